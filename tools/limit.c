// A practical limit for tools/peers.py: Super Tic-Tac-Toe by hand in C, on one core.
// Many games in turn: observation (190 bytes), mask (81), a random choice, a step, and a new game after the last one.
// Prints nanoseconds a step. The rules are those of the library with its options' defaults, in which any cell is open
// at first and a won board goes on.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GAMES = 1024, ALL = 511, ANY = -1, SEEN = 190, CELLS = 81 };

typedef struct {
    uint16_t marks[2][9], owned[2], playable;
    int8_t target, mover, over;
    uint64_t random;
} Game;

static uint8_t has_line[512], spread[512][16], nth[512][9], size[512];
static Game games[GAMES];
static int8_t seen[GAMES][SEEN + 8], legal[GAMES][CELLS + 8];

static void prepare(void) {
    static const int lines[8] = {7, 56, 448, 73, 146, 292, 273, 84};
    for (int set = 0; set < 512; set++) {
        for (int k = 0; k < 8; k++) has_line[set] |= (set & lines[k]) == lines[k];
        for (int k = 0; k < 9; k++) {
            spread[set][k] = set >> k & 1;
            if (set >> k & 1) nth[set][size[set]++] = k;
        }
    }
}

static void begin(Game *game) {
    uint64_t random = game->random;
    memset(game, 0, sizeof *game);
    game->random = random, game->playable = ALL, game->target = ANY;
}

static void look(const Game *game, int8_t *out, int8_t *mask, unsigned free[9]) {
    const uint16_t *own = game->marks[game->mover], *other = game->marks[1 - game->mover];
    unsigned boards = game->target == ANY ? game->playable : 1u << game->target;
    for (int k = 0; k < 9; k++) memcpy(out + 9 * k, spread[own[k]], 9), memcpy(out + 81 + 9 * k, spread[other[k]], 9);
    memcpy(out + 162, spread[game->owned[game->mover]], 9), memcpy(out + 171, spread[game->owned[1 - game->mover]], 9);
    memcpy(out + 180, spread[boards], 9), out[189] = 1;
    for (int k = 0; k < 9; k++) {
        free[k] = boards >> k & 1 ? ~(own[k] | other[k]) & ALL : 0;
        memcpy(mask + 9 * k, spread[free[k]], 9);
    }
}

static int choose(Game *game, const unsigned free[9]) {
    unsigned number = 0;
    for (int k = 0; k < 9; k++) number += size[free[k]];
    uint64_t x = game->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u, x = (x ^ x >> 27) * 0x94D049BB133111EBu, x ^= x >> 31;
    unsigned skip = (x >> 32) * number >> 32, board = 0;
    while (skip >= size[free[board]]) skip -= size[free[board++]];
    return 9 * board + nth[free[board]][skip];
}

static void step(Game *game, int action) {
    int board = action / 9, cell = action % 9, mover = game->mover;
    game->marks[mover][board] |= 1 << cell, game->mover = 1 - mover;
    if (has_line[game->marks[mover][board]] && !((game->owned[0] | game->owned[1]) >> board & 1)) {
        game->owned[mover] |= 1 << board;
        game->over = has_line[game->owned[mover]];
    }
    if ((game->marks[0][board] | game->marks[1][board]) == ALL) game->playable &= ~(1 << board);
    game->over |= game->playable == 0;
    game->target = game->playable >> cell & 1 ? cell : ANY;
}

int main(void) {
    double best = 1e9;
    prepare();
    for (int i = 0; i < GAMES; i++) games[i].random = i, begin(&games[i]);
    for (int run = 0; run < 9; run++) {
        clock_t start = clock();
        for (int turn = 0; turn < 500; turn++)
            for (int i = 0; i < GAMES; i++) {
                unsigned free[9];
                look(&games[i], seen[i], legal[i], free);
                step(&games[i], choose(&games[i], free));
                if (games[i].over) begin(&games[i]);
            }
        double took = (double)(clock() - start) / CLOCKS_PER_SEC / 500 / GAMES * 1e9;
        if (took < best) best = took;
    }
    printf("%.1f\n", best);
    return seen[3][7] + legal[5][9] > 99;
}
