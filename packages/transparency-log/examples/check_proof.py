#!/usr/bin/env python3
"""Verifies a transferd proof independently of transferd, with Python 3.8 and its standard library only.

    python3 check_proof.py <proof file> --key <verifier key> [--checkpoint <an earlier checkpoint>]

It implements the specifications and shares no code with transferd: RFC 8032 (Ed25519), RFC 9162 2.1.3 and 2.1.4 (proofs), C2SP
signed-note and tlog-checkpoint. It is short so that you can read it before you rely on it.
"""
import argparse, base64, hashlib, json, sys


class Wrong(Exception):
    pass


def require(holds, reason):
    if not holds:
        raise Wrong(reason)


# Ed25519 on points (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z, as in RFC 8032, 5.1.4.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(s, p):
    q = (0, 1, 1, 0)
    while s > 0:
        if s & 1:
            q = add(q, p)
        p, s = add(p, p), s >> 1
    return q


def point(raw):
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * ROOT_OF_MINUS_1 % P
    require(y < P and (x * x - x2) % P == 0 and not (x == 0 and sign), "a point is not on the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point(bytes([0x58] + [0x66] * 31))


def signed(public, message, signature):
    if len(signature) != 64:
        return False
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    left, right = multiply(s, BASE), add(point(signature[:32]), multiply(k, point(public)))
    same = (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0
    return s < L and same


def decoded(text):
    raw = base64.b64decode(text, validate=True)
    require(base64.b64encode(raw).decode() == text, "Base64 that is not canonical")
    return raw


def hashed(text):
    raw = decoded(text)
    require(len(raw) == 32, "a hash that is not 32 bytes")
    return raw


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def climb(place, last, low, high, proof):
    """Runs the loop of RFC 9162. Returns the root of the older tree (low) and of the newer tree (high)."""
    for sibling in proof:
        require(last > 0, "a proof that is too long")
        if place % 2 == 1 or place == last:
            low, high = sha256(b"\1", sibling, low), sha256(b"\1", sibling, high)
            while place % 2 == 0 and place > 0:
                place, last = place // 2, last // 2
        else:
            high = sha256(b"\1", high, sibling)
        place, last = place // 2, last // 2
    require(last == 0, "a proof that is too short")
    return low, high


def included(leaf_hash, index, size, root, proof):
    require(0 <= index < size, "an index that is not in the tree")
    return climb(index, size - 1, leaf_hash, leaf_hash, proof)[1] == root


def consistent(size, root, newer_size, newer_root, proof):
    if size == newer_size or size == 0:
        return not proof and root == (newer_root if size == newer_size else sha256())
    require(0 < size < newer_size and len(proof) > 0, "no proof from the older checkpoint to the newer one")
    if size & (size - 1) == 0:
        proof = [root] + proof
    place, last = size - 1, newer_size - 1
    while place % 2 == 1:
        place, last = place // 2, last // 2
    return climb(place, last, proof[0], proof[0], proof[1:]) == (root, newer_root)


def open_note(note, key):
    """Returns the text of a note that the key has signed, and the name of the key."""
    name, key_id, raw = key.split("+", 2)
    raw = decoded(raw)
    require(len(raw) == 33 and raw[0] == 1, "a key that is not Ed25519")
    require(key_id == sha256(name.encode(), b"\n", raw)[:4].hex(), "a key ID that does not match the key")
    require(all(c >= " " or c == "\n" for c in note) and note.endswith("\n"), "a note with control characters")
    text, _, lines = note.rpartition("\n\n")
    text += "\n"
    signatures = [line.split(" ") for line in lines[:-1].split("\n")]
    require(all(len(each) == 3 and each[0] == "\u2014" for each in signatures), "an invalid signature line")
    ours = [decoded(each[2]) for each in signatures if each[1] == name]
    ours = [each[4:] for each in ours if each[:4].hex() == key_id]
    require(ours and signed(raw[1:], text.encode(), ours[0]), "a note that the key has not signed")
    return text, name


def open_checkpoint(note, key):
    """Returns the size and root of a checkpoint that the key has signed."""
    text, name = open_note(note, key)
    origin, size, root = text.split("\n")[:3]
    require(origin == name, "a checkpoint of a different log")
    require(size.isascii() and size.isdigit() and str(int(size)) == size, "an invalid tree size")
    return int(size), hashed(root)


def event_in(leaf):
    """Returns the fields of the event in a leaf. A leaf of a long event holds its SHA-256 instead of its content."""
    # Readers may disagree about a duplicate name.
    form, stream, revision, recorded_at_ms, content = json.loads(leaf, object_pairs_hook=without_duplicates)
    fields = zip(("id", "type", "data", "metadata"), content) if form == "transferd/2 event" else [("type", form)]
    return {"stream": stream, "revision": revision, "recordedAtMs": recorded_at_ms, **dict(fields)}


def without_duplicates(pairs):
    require(len(pairs) == len(dict(pairs)), "a duplicate name")
    return dict(pairs)


def check(text, key, kept=None):
    """Returns the events that the proof proves to be in the log. Raises Wrong or a Python error for an invalid file."""
    file = json.loads(text)
    # Readers may disagree about a duplicate name, so exactly one notation is allowed.
    require(json.dumps(file, indent=2, ensure_ascii=False) + "\n" == text, "a file that transferd has not written")
    require(file.pop("format") == "transferd-proof/2", "an unknown format")
    tracking_id, checkpoint, events = file.pop("trackingId"), file.pop("checkpoint"), file.pop("events")
    size, root = open_checkpoint(checkpoint, key)
    heads, older = [(size, root)], file.pop("older", None)
    require(not file and events, "a file with unknown fields or without events")
    if older is not None:
        heads.append(open_checkpoint(older["checkpoint"], key))
        proof = [hashed(each) for each in older["proof"]]
        require(consistent(*heads[1], size, root, proof), "a log that is not a continuation of the older one")
    require(kept is None or open_checkpoint(kept, key) in heads, "a log that does not lead from your checkpoint")
    shown = []
    for event in events:
        leaf, proof = event["leaf"].encode(), [hashed(each) for each in event["proof"]]
        require(type(event["index"]) is int, "an invalid index")
        require(included(sha256(b"\0", leaf), event["index"], size, root, proof), f"leaf {event['index']} is not in the tree")
        shown.append({**event_in(leaf), "index": event["index"]})
        require(shown[-1]["stream"] == f"transfer-{tracking_id}", "an event of a different stream")
    for before, after in zip(shown, shown[1:]):
        follows = after["revision"] == before["revision"] + 1 and after["index"] > before["index"]
        require(follows, f"event {after['revision']} does not follow event {before['revision']}")
    return shown


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proof")
    parser.add_argument("--key", required=True)
    parser.add_argument("--checkpoint")
    options = parser.parse_args()
    try:
        for event in check(read(options.proof), options.key, options.checkpoint and read(options.checkpoint)):
            print(f"leaf {event['index']}: {event['stream']}@{event['revision']} {event['type']}")
        print("The proof is valid.")
    except Exception as error:
        sys.exit(f"The proof is invalid: {error}")
