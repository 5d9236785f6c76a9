"""Pictures in terminals that can show them: kitty's graphics protocol and iTerm2's inline images."""

import base64
from collections.abc import Mapping

#: Columns of text that a picture takes.
COLUMNS = 40

_CHUNK = 4096  # of base64, the most that kitty takes at once


def protocol(environment: Mapping[str, str]) -> str | None:
    """The protocol of the terminal, "kitty" or "iterm", by its environment variables; None if it is not known.

    Inside tmux or screen pictures do not arrive, whatever the terminal outside is.
    """
    if "TMUX" in environment or environment.get("TERM", "").startswith(("screen", "tmux", "dumb")):
        return None
    program = environment.get("TERM_PROGRAM", "")
    if "KITTY_WINDOW_ID" in environment or environment.get("TERM") in ("xterm-kitty", "xterm-ghostty"):
        return "kitty"
    if program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    return None


def escape(png: bytes, protocol: str) -> str:
    """The text that makes a terminal of this protocol show the PNG, `COLUMNS` wide."""
    data = base64.b64encode(png).decode()
    if protocol == "iterm":
        return f"\033]1337;File=inline=1;width={COLUMNS};size={len(png)}:{data}\a"
    parts = [data[k : k + _CHUNK] for k in range(0, len(data), _CHUNK)]
    heads = [f"a=T,f=100,c={COLUMNS},"] + [""] * (len(parts) - 1)
    return "".join(
        f"\033_G{head}m={int(k + 1 < len(parts))};{part}\033\\"
        for k, (head, part) in enumerate(zip(heads, parts, strict=True))
    )
