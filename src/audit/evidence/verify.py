#!/usr/bin/env python3
"""Checks an evidence package independently of transferd, with Python 3.8 and its standard library only.

    python3 verify.py PACKAGE.zip --key VERIFIER_KEY [--earlier EARLIER.zip|CHECKPOINT_FILE]

It implements docs/auditing/evidence.md and these specifications, and shares no code with transferd: RFC 8032 (Ed25519),
RFC 9162 2.1.3 and 2.1.4 (proofs), C2SP signed-note and tlog-checkpoint. It is short so that you can read it before you
rely on it.
"""
import argparse, base64, collections, contextlib, datetime, hashlib, json, re, struct, sys, zlib

FORMAT = "transferd-evidence/1"
TEXTS_SHA256 = "bf64a0a3310023c27c2ab6c92c9d43064a1c930950a62fd2982e6c896b1920f1"
NAMES = ["README.txt", "evidence.json", "manifest.txt", "report.html", "report.tr.html"]
NAMES += ["texts.json", "verify.go", "verify.py"]
REPORTS = {"report.html": "en", "report.tr.html": "tr"}


class Wrong(Exception):
    pass


def require(holds, reason):
    if not holds:
        raise Wrong(reason)


@contextlib.contextmanager
def about(what):
    """Names what is wrong, also if the program cannot process it."""
    try:
        yield
    except Wrong as wrong:
        raise Wrong(f"{what}: {wrong}") from None
    except Exception:
        raise Wrong(f"{what}: it is malformed") from None


# 1. The container


def unpack(data):
    """Returns the contents by name. Builds each header from name and content, so that it can have no other form."""
    files, directory, at = {}, b"", 0
    for name in NAMES:
        content_at = at + 30 + len(name)
        content = data[content_at : content_at + int.from_bytes(data[at + 22 : at + 26], "little")]
        sizes = struct.pack("<3I2H", zlib.crc32(content), len(content), len(content), len(name), 0)
        common = struct.pack("<5H", 10, 0, 0, 0, 0x0021) + sizes
        header = b"PK\3\4" + common + name.encode()
        different = first_difference(data[at:content_at], header)
        if different is not None:
            what = "does not have the checksum in its header" if 14 <= different < 18 else "has a wrong header"
            raise Wrong(f"{name}: it {what} (byte {at + different})")
        directory += b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<3H2I", 0, 0, 0, 0, at) + name.encode()
        files[name], at = content, content_at + len(content)
    end = b"PK\5\6" + struct.pack("<4H2IH", 0, 0, len(NAMES), len(NAMES), len(directory), at, 0)
    different, place = first_difference(data[at:], directory + end), 0
    if different is not None:
        for name in NAMES:
            place += 46 + len(name)
            require(different >= place, f"{name}: it has a wrong entry in the directory (byte {at + different})")
        raise Wrong(f"the end of the file: it is not as expected (byte {at + different})")
    return files


def first_difference(left, right):
    """Returns the place of the first different byte, or None."""
    if left == right:
        return None
    places = (place for place, pair in enumerate(zip(left, right)) if pair[0] != pair[1])
    return next(places, min(len(left), len(right)))


# 2. Signatures. Ed25519 on points (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z, as in RFC 8032, 5.1.4

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
    if y >= P or (x * x - x2) % P != 0 or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point(bytes([0x58] + [0x66] * 31))


def is_signed(public, message, signature):
    if len(signature) != 64:
        return False
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    r, a = point(signature[:32]), point(public)
    if s >= L or r is None or a is None:
        return False
    left, right = multiply(s, BASE), add(r, multiply(k, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def open_note(note, key):
    """Returns the text of a note that the key has signed, and the number of its signatures."""
    holds = note.endswith("\n") and all(c >= " " or c == "\n" for c in note)
    require(holds, "it has no newline at its end, or control characters")
    text, _, lines = note.rpartition("\n\n")
    text += "\n"
    ours, signatures = None, lines[:-1].split("\n")
    for signature in signatures:
        parts = signature.split(" ")
        require(len(parts) == 3 and parts[0] == "\u2014", "it has an invalid signature line")
        raw = decoded(parts[2])
        if ours is None and parts[1] == key.name and raw[:4] == key.id:
            ours = raw[4:]
    require(ours is not None and is_signed(key.public, text.encode(), ours), "it has no valid signature of the key")
    return text, len(signatures)


Key = collections.namedtuple("Key", "text name id public")


def parse_key(text):
    """Parses <name>+<key id in hex>+<Base64 of 1 and the public key>."""
    name, key_id, encoded = text.split("+", 2)
    raw = decoded(encoded)
    require(len(raw) == 33 and raw[0] == 1, "it is not a key of Ed25519")
    expected = sha256(name.encode() + b"\n" + raw)[:4]
    require(key_id == expected.hex(), "its id does not match it")
    return Key(text, name, expected, raw[1:])


def open_checkpoint(note, key):
    """Returns the size and the root of a checkpoint that the key has signed."""
    text, _ = open_note(note, key)
    lines = text.split("\n")
    require(len(lines) >= 4 and lines[0] == key.name, "its first line is not the name of the key")
    return integer(Number(lines[1])), hash_in(lines[2])


def check_manifest(files, key):
    with about("manifest.txt"):
        text, signatures = open_note(files["manifest.txt"].decode(), key)
        lines, others = text.split("\n"), [name for name in NAMES if name != "manifest.txt"]
        require(signatures == 1, "it has more than one signature")
        require(lines[0] == FORMAT, f"it does not start with {FORMAT}")
        names = [line[64:] for line in lines[1:]]
        require(names == ["  " + name for name in others] + [""], "it does not name exactly the files of a package")
    for name, line in zip(others, lines[1:]):
        require(line[:64] == sha256(files[name]).hex(), f"{name}: its SHA-256 is not the one in manifest.txt")


# 3. Encodings. Text is read strictly, so that no two programs can understand it differently

Number = collections.namedtuple("Number", "text")


def strict_json(text):
    """Returns the value. Numbers keep their text, and the members of objects their order."""
    return json.loads(text, object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=no_constant)


def members(pairs):
    require(len(pairs) == len(dict(pairs)), "an object repeats a name")
    return dict(pairs)


def no_constant(name):
    raise Wrong("it is malformed")


def fields(value, names, optional=None):
    """Returns the members of an object that has exactly these names."""
    holds = type(value) is dict and set(value) - {optional} == set(names.split())
    require(holds, f"an object does not have exactly these fields: {names}")
    return [value[name] for name in names.split()]


def string(value):
    require(type(value) is str, "a value is not a string")
    return value


def array(value):
    require(type(value) is list, "a value is not an array")
    return value


def integer(value):
    holds = type(value) is Number and re.fullmatch("0|[1-9][0-9]{0,15}", value.text) and int(value.text) < 2**53
    require(holds, "a value is not an integer from 0 to 2^53 - 1")
    return int(value.text)


def decoded(text):
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = None
    require(raw is not None and base64.b64encode(raw).decode() == text, "a value is not Base64 in its canonical form")
    return raw


def hash_in(text):
    raw = decoded(string(text))
    require(len(raw) == 32, "a hash does not have 32 bytes")
    return raw


def sha256(data):
    return hashlib.sha256(data).digest()


# 4. Proofs


def climb(place, last, low, high, proof):
    """Runs the loop of RFC 9162. Returns the root of the older tree (low) and of the newer tree (high)."""
    for sibling in proof:
        require(last > 0, "its proof is too long")
        if place % 2 == 1 or place == last:
            low, high = sha256(b"\1" + sibling + low), sha256(b"\1" + sibling + high)
            while place % 2 == 0 and place > 0:
                place, last = place // 2, last // 2
        else:
            high = sha256(b"\1" + high + sibling)
        place, last = place // 2, last // 2
    require(last == 0, "its proof is too short")
    return low, high


def entry_of(leaf):
    """Returns the bytes of a leaf in the tree, which has the SHA-256 of a long one."""
    whole = leaf.encode()
    place = re.match(r'\["[^"]*",("[^"\\]*",[0-9]+,[0-9]+),', leaf)
    if len(whole) <= 65535 or not place:
        return whole
    return f'["transferd/2 sha256",{place[1]},"{sha256(whole).hex()}"]'.encode()


def is_included(leaf, index, size, root, proof):
    require(index < size, "its index is not in the tree")
    leaf_hash = sha256(b"\0" + leaf)
    return climb(index, size - 1, leaf_hash, leaf_hash, proof)[1] == root


def is_continued(older, newer, proof):
    (size, root), (newer_size, newer_root) = older, newer
    if size == newer_size or size == 0:
        return not proof and root == (newer_root if size == newer_size else sha256(b""))
    require(size < newer_size, "it is larger than the newer one")
    if size & (size - 1) == 0:
        proof = [root] + proof
    require(proof, "its proof is too short")
    place, last = size - 1, newer_size - 1
    while place % 2 == 1:
        place, last = place // 2, last // 2
    return climb(place, last, proof[0], proof[0], proof[1:]) == (root, newer_root)


# 5. The events

Package = collections.namedtuple("Package", "tracking_id origin head older events")


class Event:
    """An event of the log.

    If personal data is disclosed, `personal` is the number of personal fields, and `disclosed` has the JSON texts of
    the disclosed ones by name.
    """

    def __init__(self, index, leaf):
        self.index, self.leaf, self.disclosed, self.personal = index, leaf, {}, None
        form, stream, revision, recorded_at_ms, content = array(strict_json(leaf))
        require(form in ("transferd/2 event", "transferd/2 redacted"), "its leaf has an unknown form")
        self.stream, self.revision, self.recorded_at_ms = string(stream), integer(revision), integer(recorded_at_ms)
        self.id, self.type, self.data, self.metadata = array(content)
        require(type(self.data) is dict and type(self.metadata) is dict, "its data or metadata is not an object")
        require("\n" not in stream + string(self.id), "its stream or id has a newline")
        string(self.type), string(self.metadata.get("actor"))


def read_evidence(text, key):
    file = strict_json(text)
    form, tracking_id, note, listed, disclosed = fields(file, "format trackingId checkpoint events disclosed", "older")
    require(form == FORMAT, f"its format is not {FORMAT}")
    require(re.fullmatch("[A-Za-z0-9-]{1,64}", string(tracking_id)), "its trackingId is invalid")
    with about("checkpoint"):
        head = open_checkpoint(string(note), key)
    events, last = [], -1
    for each in array(listed):
        index, leaf, proof = fields(each, "index leaf proof")
        index, leaf = integer(index), string(leaf)
        with about(f"event {index}"):
            require(index > last, f"it follows event {last}")
            last = index
            hashes = [hash_in(each) for each in array(proof)]
            require(is_included(entry_of(leaf), index, *head, hashes), "it is not in the tree of the checkpoint")
            events.append(Event(index, leaf))
    check_streams(tracking_id, events)
    disclose(disclosed, {event.index: event for event in events})
    check_wallets(tracking_id, events)
    older = None
    if "older" in file:
        with about("older"):
            note, proof = fields(file["older"], "checkpoint proof")
            older = open_checkpoint(string(note), key)
            hashes = [hash_in(each) for each in array(proof)]
            require(is_continued(older, head, hashes), "the log of the checkpoint does not continue it")
    return Package(tracking_id, key.name, head, older, events)


def check_streams(tracking_id, events):
    """Checks that these are the events of the table in docs/auditing/evidence.md.

    If a package has a part of a stream only, no check shows that this part is complete.
    """
    expected = {}
    for event in events:
        next_revision = expected.get(event.stream, 0)
        is_part = event.stream.startswith(("payouts-", "bankentries-", "wallet-"))
        holds = event.revision == next_revision or (is_part and event.revision > next_revision)
        require(holds, f"event {event.index}: {event.stream} has revision {event.revision} instead of {next_revision}")
        expected[event.stream] = event.revision + 1
    of_transfer = [event for event in events if event.stream == f"transfer-{tracking_id}"]
    require(of_transfer, f"transfer-{tracking_id}: it has no events")
    created, last = of_transfer[0], of_transfer[-1].index
    with about(f"event {created.index}"):
        require(created.type in ("DepositCreated", "WithdrawalCreated"), "it does not create a transfer")
        merchant_id, sealed = string(created.data.get("merchantId")), created.data.get("sealed")
        key_id = sealed_parts(sealed).group(1) if sealed is not None else None
    own = [f"transfer-{tracking_id}", f"payment-{tracking_id}", f"callback-{tracking_id}", f"payouts-{merchant_id}"]
    users, payments = {}, set()
    for event in of_transfer:
        for actor in (event.metadata.get("actor"), event.data.get("by"), event.data.get("proposedBy")):
            with about(f"event {event.index}"):
                if actor is not None and string(actor).startswith("user:"):
                    users[f"user-{actor[5:]}"] = True
        if event.type == "BankPaymentMatched":
            with about(f"event {event.index}"):
                payments.add(string(event.data.get("bankPaymentId")))
    after = set()
    for event in events:
        stream, data = event.stream, event.data
        is_of_transfer = type(data.get("trackingId")) is str and data["trackingId"] == tracking_id
        if stream in (f"merchant-{merchant_id}", "integrity-log") or stream in users:
            holds = event.index < last or stream not in after
            require(holds, f"event {event.index}: {stream} has two events after the transfer's last one")
            after |= {stream} if event.index > last else set()
            continue
        if stream.startswith("bankentries-"):
            payment = data.get("paymentId")
            is_named = event.type == "BankPaymentRecorded" and type(payment) is str and payment in payments
            belongs = is_of_transfer or is_named
        elif stream.startswith("wallet-") or stream in own:
            belongs = is_of_transfer
        else:
            belongs = stream == "installation-currency" or (key_id is not None and stream == f"privacy-{key_id}")
        require(belongs, f"event {event.index}: it is an event of {stream} that does not belong in the package")
    for stream in (f"merchant-{merchant_id}", "installation-currency", *users):
        require(stream in expected, f"{stream}: its events are missing")


def check_wallets(tracking_id, events):
    paid = {event.disclosed.get("accountNumber") for event in events if event.stream == f"payment-{tracking_id}"}
    for event in events:
        account = event.stream[len("wallet-") :]
        if event.stream.startswith("wallet-"):
            holds = re.fullmatch("[1-9][0-9]*", account) and account in paid
            require(holds, f"event {event.index}: {event.stream} names an account that is not disclosed")


# 6. Disclosed personal data


def sealed_parts(sealed):
    """Splits the field `sealed` into the id of the key, the commitment and the ciphertext."""
    parts = re.fullmatch(r"c2\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]+)", string(sealed))
    require(parts, "its field sealed has an unknown form")
    return parts


def disclose(disclosed, events):
    """Checks the disclosed fields against the commitments in the events, and adds them to the events."""
    last = -1
    for each in array(disclosed):
        index, hashes, listed = fields(each, "index hashes fields")
        index = integer(index)
        with about(f"personal data of event {index}"):
            require(index > last, f"it follows that of event {last}")
            last = index
            require(index in events, "the package does not contain the event")
            event, hashes = events[index], array(hashes)
            holds = all(re.fullmatch("[0-9a-f]{64}", string(each)) for each in hashes)
            require(holds, "a hash does not have 64 hex digits")
            commitment = sha256("\n".join(["transferd-fields/1", *hashes]).encode())
            expected = base64.urlsafe_b64encode(commitment).decode().rstrip("=")
            require(sealed_parts(event.data.get("sealed")).group(2) == expected, "its hashes do not match the event")
            event.personal, last_at = len(hashes), -1
            for field in array(listed):
                at, name, salt, value = fields(field, "at field salt value")
                at = integer(at)
                require(last_at < at < len(hashes), "the places of its fields are wrong")
                last_at = at
                require(re.fullmatch("[A-Za-z]{1,64}", string(name)), "the name of a field is invalid")
                with about(name):
                    require(name not in event.data and name not in event.disclosed, "the event already has this field")
                    require(len(decoded(string(salt))) == 16, "its salt does not have 16 bytes")
                    lines = "\n".join(["transferd-field/1", event.stream, event.id, name, salt, string(value)])
                    require(sha256(lines.encode()).hex() == hashes[at], "it has a different hash in the event")
                    strict_json(value)
                    event.disclosed[name] = value


# 7. An earlier package or checkpoint


def check_earlier(data, package, key):
    """Checks that the log of the package continues the log of an earlier package or checkpoint."""
    earlier = check_evidence(data, key)[1] if data.startswith(b"PK") else None
    size, root = earlier.head if earlier else open_checkpoint(data.decode(), key)
    known = [head for head in (package.older, package.head) if head is not None and head[0] == size]
    advice = "make the package with --from this checkpoint"
    require(known, f"the package does not continue its log of {size} events: {advice}")
    require(known[0][1] == root, f"its log of {size} events is different: the log was changed")
    leaves = {event.index: event.leaf for event in package.events}
    for event in earlier.events if earlier else ():
        require(leaves.get(event.index, event.leaf) == event.leaf, f"event {event.index} is different")


# 8. The reports


def render(package, texts, language):
    """Returns the report that src/audit/evidence/report.ts makes of the same events and texts."""
    events, rules, translated = package.events, texts["rules"], texts[language]
    report, labels, values, names = (translated[part] for part in ("report", "fields", "values", "events"))
    of_kind = lambda kind: [event for event in events if kind_of(event.stream) == kind]
    own = of_kind("transfer")
    first, last = own[0], own[-1]
    currency = of_kind("installation")[0].data
    erasure = next((event for event in of_kind("privacy") if event.type == "CustomerErased"), None)

    def text(name, **parts):
        whole = string(report[name])
        for part, value in parts.items():
            whole = whole.replace("{" + part + "}", value, 1)
        return whole

    def label(field):
        return labels.get(field, field)

    def money(minor):
        digits = str(abs(minor)).rjust(3, "0")
        whole = f"{int(digits[:-2]):,}".replace(",", text("group"))
        is_whole = currency.get("decimals") == Number("0") and digits.endswith("00")
        cents = "" if is_whole else text("decimal") + digits[-2:]
        return f"{'-' if minor < 0 else ''}{whole}{cents} {plain(currency['currency'])}"

    def settings_before(index):
        """Returns the merchant's settings before an event, each with the event that set it."""
        settings = {}
        for event in of_kind("merchant"):
            changes = event.data.get("settings")
            if changes is None:
                changes = event.data.get("changes")
            if event.index < index and type(changes) is dict:
                settings.update((name, (value, event)) for name, value in changes.items())
        return settings

    def person(actor, index):
        kind, _, name = actor.partition(":") if ":" in actor else ("", "", actor)
        if kind == "user":
            before = [event for event in events if event.stream == f"user-{name}" and event.index < index]
            if not before or "name" not in before[0].data:
                return actor
            role = [event.data["role"] for event in before if "role" in event.data][-1]
            return f"{plain(before[0].data['name'])} ({value_text('role', role, index)})"
        if kind == "merchant":
            value, _ = settings_before(index).get("name", (None, None))
            return f"{name if value is None else plain(value)} ({text('merchant')})"
        if kind == "cli":
            return f"{name} ({text('cli')})"
        if kind == "system":
            return f"{text('system')} ({name})"
        return text("customer") if actor == "customer" else actor

    def value_text(field, value, index):
        if value is None:
            return text("none")
        if type(value) is bool:
            return text("yes" if value else "no")
        if type(value) is list:
            return ", ".join([value_text(field, each, index) for each in value] or [text("none")])
        if type(value) is dict:
            parts = [f"{label(name)} {value_text(name, each, index)}" for name, each in value.items()]
            return ", ".join(parts or [text("none")])
        given = plain(value)
        if field.endswith("Minor") and re.fullmatch("-?[0-9]{1,30}", given):
            return money(int(given))
        if field.endswith("Ms"):
            return f"{given} ms"
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", given):
            return f"{given[:10]} {given[11:19]} UTC"
        if field in rules["actors"]:
            return person(given, index)
        if field == "merchantIds" and given == first.data["merchantId"]:
            return plain(settings_before(index).get("name", (given, None))[0])
        return values.get(f"{field}.{given}", given)

    def personal(event):
        """Returns the personal fields of an event as label and value, and what is not disclosed of them."""
        if "sealed" not in event.data:
            return []
        if erasure and not event.stream.startswith("bankentries-"):
            return [(text("personal"), text("erased", time=recorded(erasure)))]
        if event.personal is None:
            return [(text("personal"), text("notDisclosed"))]
        shown = []
        for field, value in event.disclosed.items():
            content = strict_json(value)
            shown.append((label(field), content if type(content) is str else value))
        rest = event.personal - len(shown)
        return shown + ([(text("personal"), text("restNotDisclosed", count=str(rest)))] if rest > 0 else [])

    lines = []

    def fact(name, value, *sources):
        cells = f"<th>{escaped(name)}</th><td>{escaped(value)}</td>"
        lines.append(f'<tr>{cells}<td class="leaf">{leaves(*sources)}</td></tr>')

    def section(name, *heads):
        lines.extend(["<section>", f"<h2>{escaped(text(name))}</h2>", "<table>"])
        if heads:
            cells = "".join(f"<th>{escaped(text(head))}</th>" for head in heads)
            lines.append(f'<thead><tr>{cells}<th class="leaf">{escaped(text("leaf"))}</th></tr></thead>')

    def end_section():
        lines.extend(["</table>", "</section>"])

    def row(event, *cells):
        contents = "".join(f"<td>{cell}</td>" for cell in cells)
        time = f'<td class="time">{escaped(recorded(event))}</td>'
        lines.append(f'<tr>{time}{contents}<td class="leaf">{leaves(event)}</td></tr>')

    requested = money(minor_in(first.data["amountMinor"]))
    kind = "deposit" if first.type == "DepositCreated" else "withdrawal"
    changed = [event for event in own if event.type in rules["statuses"]][-1]
    status = values[f"status.{rules['statuses'][changed.type]}"]
    headline = text(kind, amount=requested, status=status)
    lines += [
        "<!doctype html>",
        f'<html lang="{language}">',
        "<head>",
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escaped(headline)}</title>",
        f"<style>{texts['css']}</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<p>{escaped(text('document'))}</p>",
        f"<h1>{escaped(headline)}</h1>",
        f"<p>{escaped(package.tracking_id)}</p>",
        "</header>",
    ]

    section("transfer")
    fact(text("status"), f"{status}, {recorded(changed)}", changed)
    fact(label("referenceId"), plain(first.data["referenceId"]), first)
    settings = settings_before(first.index)
    merchant_name, named_by = settings["name"]
    fact(label("merchantId"), f"{plain(merchant_name)} ({plain(first.data['merchantId'])})", named_by, first)
    fact(label("paymentMethod"), plain(first.data["paymentMethod"]), first)
    for name, value in personal(first):
        fact(name, value, *([first, erasure] if erasure else [first]))
    end_section()

    section("amounts")
    total = lambda field: sum(minor_in(event.data[field]) for event in own if event.data.get(field) is not None)
    having = lambda *names: [event for event in own if any(not is_nothing(event.data.get(name)) for name in names)]
    fact(text("requested"), requested, first)
    receipts = having("receivedAmountMinor", "receivedAmountChangeMinor")
    if kind == "deposit" and receipts:
        fact(text("received"), money(total("receivedAmountMinor") + total("receivedAmountChangeMinor")), *receipts)
    booked = [event for event in own if event.type in ("TransferCompleted", "TransferCorrected")]
    if booked:
        fact(text("booked"), money(minor_in(booked[-1].data["transactionAmountMinor"])), booked[-1])
    returns = having("returnedAmountMinor")
    if returns:
        fact(text("returned"), money(total("returnedAmountMinor")), *returns)
    end_section()

    section("settings")
    for name in rules["settings"][kind]:
        if name in settings:
            value, source = settings[name]
            fact(label(name), value_text(name, value, first.index), source)
    end_section()

    roles = [event for event in of_kind("user") if event.index < last.index and event.type in rules["people"]]
    if roles:
        section("people", "time", "name", "event")
        for user in dict.fromkeys(event.stream for event in roles):
            created = next(event for event in events if event.stream == user)
            for event in (event for event in roles if event.stream == user):
                details, data = [names.get(event.type, "")], event.data
                if "role" in data:
                    details.append(value_text("role", data["role"], event.index))
                if type(data.get("merchantIds")) is list:
                    merchants = value_text("merchantIds", data["merchantIds"], event.index)
                    details.append(f"{label('merchantIds')} {merchants}")
                if "by" in data:
                    details.append(person(plain(data["by"]), event.index))
                row(event, escaped(plain(created.data["name"])), escaped("; ".join(details)))
        end_section()

    section("timeline", "time", "event", "who")
    shown = {"transfer", "payment", "callback", "payouts", "wallet", "bankentries", "privacy"}
    for event in events:
        source, actor = kind_of(event.stream), event.metadata["actor"]
        is_related = source == "integrity" or (source == "merchant" and event.type in rules["merchant"])
        if source not in shown and not (is_related and first.index < event.index < last.index):
            continue
        details = []
        for name, value in event.data.items():
            is_amount = name == "amountMinor" and source == "transfer" and event is not first
            is_repeated = is_amount or (name == "by" and value == actor)
            if not (name in rules["hidden"] or is_nothing(value) or is_repeated):
                details.append((label(name), value_text(name, value, event.index)))
        details += personal(event)
        listed = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in details)
        what = f"<b>{escaped(names.get(event.type, event.type))}</b>" + (f"<dl>{listed}</dl>" if listed else "")
        row(event, what, escaped(person(actor, event.index)))
    end_section()

    section("proof")
    size, root = package.head
    encoded = base64.b64encode(root).decode()
    for name, value in [("log", package.origin), ("treeSize", size), ("root", encoded), ("events", len(events))]:
        lines.append(f'<tr><th>{escaped(text(name))}</th><td colspan="2">{escaped(str(value))}</td></tr>')
    notes = [f"<p>{escaped(text(name))}</p>" for name in ("proofNote", "limits")]
    lines += ["</table>", *notes, "</section>", "</body>", "</html>", ""]
    return "\n".join(lines)


def kind_of(stream):
    """Returns the name of a stream before its first hyphen."""
    return stream.partition("-")[0]


def leaves(*events):
    return " ".join(f"#{event.index}" for event in events)


def recorded(event):
    time = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=event.recorded_at_ms)
    return time.isoformat(" ", "seconds") + " UTC"


def plain(value):
    """Returns a string, or the text of any other value that is not an array or an object."""
    require(type(value) not in (list, dict), "a value is not a string")
    return value if type(value) is str else value.text if type(value) is Number else json.dumps(value)


def minor_in(value):
    require(re.fullmatch("-?[0-9]{1,30}", plain(value)), "a value is not an amount")
    return int(plain(value))


def is_nothing(value):
    return value is None or value is False or (type(value) in (str, list, dict) and value in ("", "0", [], {}))


# Characters without a shape of their own, which could hide or reorder others. These are ranges instead of Unicode's
# categories, which differ between the versions of the languages.
HIDDEN = r"\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffd"
HIDDEN += r"\U000e0000-\U000e007f"
# Not every language can represent half of a surrogate pair.
SPECIAL = re.compile(r'[&<>"' + HIDDEN + r"\ud800-\udfff]")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escaped(text):
    """Returns a text for HTML, with hidden characters as \\u and their number."""

    def visible(match):
        code = ord(match[0])
        return ENTITIES.get(match[0]) or f"\\u{0xFFFD if 0xD800 <= code <= 0xDFFF else code:04x}"

    return SPECIAL.sub(visible, text)


def check_reports(files, package):
    texts = strict_json(files["texts.json"].decode())
    for name, language in REPORTS.items():
        with about(name):
            expected = render(package, texts, language).encode()
            different = first_difference(files[name], expected)
            if different is not None:
                line = 1 + expected[:different].count(b"\n")
                raise Wrong(f"line {line} is not what the events say")


def check(data, key):
    """Returns the content of a valid package."""
    files, package = check_evidence(data, key)
    require(sha256(files["texts.json"]).hex() == TEXTS_SHA256, "texts.json: these are not the texts of this version")
    check_reports(files, package)
    return package


def check_evidence(data, key):
    """Returns the files and the content of a package whose report may be that of another version."""
    with about("container"):
        files = unpack(data)
    check_manifest(files, key)
    with about("evidence.json"):
        return files, read_evidence(files["evidence.json"].decode(), key)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        raise Wrong("it cannot be read") from None


def summary(package, key):
    size, root = package.head
    disclosed = sorted({name for event in package.events for name in event.disclosed})
    log = f"of {package.older[0]} events" if package.older else "that you know: the package was made without --from"
    return [
        f"Transfer:   {package.tracking_id}",
        f"Events:     {len(package.events)}",
        f"Checkpoint: {size} events, root {base64.b64encode(root).decode()}",
        f"Signed by:  {key.text}",
        f"Disclosed:  {', '.join(disclosed) or 'no personal data'}",
        f"Continues:  {'a' if package.older else 'no'} log {log}",
    ]


def main(options):
    with about("key"):
        key = parse_key(options.key)
    with about(options.package):
        data = read(options.package)
    package = check(data, key)
    if options.earlier is not None:
        with about("earlier"):
            check_earlier(read(options.earlier), package, key)
    print("\n".join(summary(package, key)) + "\nThe package is valid.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", metavar="PACKAGE.zip")
    parser.add_argument("--key", required=True, help="the log's verifier key, from a trusted source")
    parser.add_argument("--earlier", help="an earlier package or checkpoint of the log")
    try:
        main(parser.parse_args())
    except Exception as wrong:
        sys.exit("The package is invalid: " + "".join(c if c.isprintable() else "?" for c in str(wrong)))
