/* A program that plays its last legal action, in C without any library. Compile it and rate it:

   cc -O2 -o last_move agents/programs/last_move.c
   ttt tournament tic_tac_dice --agents random program:./last_move

   It does not parse JSON: messages are one line, without blanks, and begin with their type; a question goes on with its
   id, and "legal" comes before all texts. The protocol promises that. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *line, const char *type) {
    return strncmp(line, "{\"type\":\"", 9) == 0 && strncmp(line + 9, type, strlen(type)) == 0;
}

int main(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        if (is(line, "hello")) {
            puts("{\"type\":\"ready\",\"protocol\":1}");
        } else if (is(line, "question")) {
            long id = strtol(strstr(line, "\"id\":") + 5, NULL, 10), action = -1;
            char *at = strstr(line, "\"legal\":[") + 9;
            while (*at != ']') {
                action = strtol(at, &at, 10);
                at += *at == ',';
            }
            printf("{\"type\":\"answer\",\"id\":%ld,\"action\":%ld}\n", id, action);
        } else if (is(line, "quit")) {
            break;
        }
        fflush(stdout); /* else the answer would wait in a buffer */
    }
    free(line);
    return 0;
}
