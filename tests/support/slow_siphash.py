"""SipHash-2-4 byte by byte, written from the paper (Aumasson and Bernstein, 2012, section 2), in plain integers."""

MASK = 2**64 - 1


def left(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & MASK


def siphash(key: bytes, message: bytes) -> int:
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [
        k0 ^ int.from_bytes(b"somepseu", "big"),
        k1 ^ int.from_bytes(b"dorandom", "big"),
        k0 ^ int.from_bytes(b"lygenera", "big"),
        k1 ^ int.from_bytes(b"tedbytes", "big"),
    ]

    def sip_round() -> None:
        v[0] = (v[0] + v[1]) & MASK
        v[2] = (v[2] + v[3]) & MASK
        v[1], v[3] = left(v[1], 13) ^ v[0], left(v[3], 16) ^ v[2]
        v[0] = left(v[0], 32)
        v[2] = (v[2] + v[1]) & MASK
        v[0] = (v[0] + v[3]) & MASK
        v[1], v[3] = left(v[1], 17) ^ v[2], left(v[3], 21) ^ v[0]
        v[2] = left(v[2], 32)

    padded = message + b"\0" * (7 - len(message) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        sip_round()
        sip_round()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        sip_round()
    return v[0] ^ v[1] ^ v[2] ^ v[3]
