// Checks an evidence package independently of transferd, with Go 1.21 and its standard library only.
//
//	go run verify.go PACKAGE.zip --key VERIFIER_KEY [--earlier EARLIER.zip|CHECKPOINT_FILE]
//
// It implements docs/auditing/evidence.md and these specifications, and shares no code with transferd: RFC 9162 2.1.3
// and 2.1.4 (proofs), C2SP signed-note and tlog-checkpoint. It is short so that you can read it before you rely on it.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"math/big"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	format      = "transferd-evidence/1"
	textsSHA256 = "bf64a0a3310023c27c2ab6c92c9d43064a1c930950a62fd2982e6c896b1920f1"
)

var (
	names = []string{
		"README.txt", "evidence.json", "manifest.txt", "report.html", "report.tr.html",
		"texts.json", "verify.go", "verify.py",
	}
	reports = [][2]string{{"report.html", "en"}, {"report.tr.html", "tr"}}
)

// wrong is the reason why a package is invalid. Checks panic with it, and main prints it.
type wrong string

func require(holds bool, reason string, values ...any) {
	if !holds {
		panic(wrong(fmt.Sprintf(reason, values...)))
	}
}

// about names what is wrong, also if the program cannot process it.
func about(what string, work func()) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case wrong:
			panic(wrong(what + ": " + string(reason)))
		default:
			panic(wrong(what + ": it is malformed"))
		}
	}()
	work()
}

// 1. The container

// unpack returns the contents by name. It builds each header from name and content, so that it can have no other form.
func unpack(data []byte) map[string][]byte {
	files, directory, at := map[string][]byte{}, []byte{}, 0
	for _, name := range names {
		contentAt := at + 30 + len(name)
		content := slice(data, contentAt, contentAt+int(uint32Of(slice(data, at+22, at+26))))
		common := little(uint16(10), uint16(0), uint16(0), uint16(0), uint16(0x0021), crc32.ChecksumIEEE(content),
			uint32(len(content)), uint32(len(content)), uint16(len(name)), uint16(0))
		header := join([]byte("PK\x03\x04"), common, []byte(name))
		if different := firstDifference(slice(data, at, contentAt), header); different >= 0 {
			what := "has a wrong header"
			if different >= 14 && different < 18 {
				what = "does not have the checksum in its header"
			}
			require(false, "%s: it %s (byte %d)", name, what, at+different)
		}
		rest := little(uint16(0), uint16(0), uint16(0), uint32(0), uint32(at))
		directory = join(directory, []byte("PK\x01\x02"), little(uint16(20)), common, rest, []byte(name))
		files[name], at = content, contentAt+len(content)
	}
	count := uint16(len(names))
	end := little(uint16(0), uint16(0), count, count, uint32(len(directory)), uint32(at), uint16(0))
	different := firstDifference(data[at:], join(directory, []byte("PK\x05\x06"), end))
	if different >= 0 {
		place := 0
		for _, name := range names {
			place += 46 + len(name)
			require(different >= place, "%s: it has a wrong entry in the directory (byte %d)", name, at+different)
		}
		require(false, "the end of the file: it is not as expected (byte %d)", at+different)
	}
	return files
}

// slice returns the bytes from one place to another, as far as they exist.
func slice(data []byte, from, to int) []byte {
	return data[min(from, len(data)):min(to, len(data))]
}

func uint32Of(raw []byte) uint32 {
	return binary.LittleEndian.Uint32(append(bytes.Clone(raw), 0, 0, 0, 0))
}

func little(values ...any) []byte {
	var buffer bytes.Buffer
	for _, value := range values {
		_ = binary.Write(&buffer, binary.LittleEndian, value) // A buffer never returns an error.
	}
	return buffer.Bytes()
}

func join(parts ...[]byte) []byte {
	return bytes.Join(parts, nil)
}

// firstDifference returns the place of the first different byte, or -1.
func firstDifference(left, right []byte) int {
	if bytes.Equal(left, right) {
		return -1
	}
	place := 0
	for place < min(len(left), len(right)) && left[place] == right[place] {
		place++
	}
	return place
}

// 2. Signatures

type verifierKey struct {
	text, name string
	id         []byte
	public     ed25519.PublicKey
}

// parseKey parses <name>+<key id in hex>+<Base64 of 1 and the public key>.
func parseKey(text string) verifierKey {
	parts := strings.SplitN(text, "+", 3)
	require(len(parts) == 3, "it is malformed")
	raw := decoded(parts[2])
	require(len(raw) == 33 && raw[0] == 1, "it is not a key of Ed25519")
	id := hashOf([]byte(parts[0]), []byte("\n"), raw)[:4]
	require(parts[1] == hex.EncodeToString(id), "its id does not match it")
	return verifierKey{text, parts[0], id, raw[1:]}
}

// openNote returns the text of a note that the key has signed, and the number of its signatures.
func openNote(note string, key verifierKey) (string, int) {
	require(utf8.ValidString(note), "it is malformed")
	hasControls := strings.ContainsFunc(note, func(c rune) bool { return c < ' ' && c != '\n' })
	require(strings.HasSuffix(note, "\n") && !hasControls, "it has no newline at its end, or control characters")
	end := strings.LastIndex(note, "\n\n")
	require(end >= 0, "it has an invalid signature line")
	text, signatures := note[:end+1], strings.Split(note[end+2:max(end+2, len(note)-1)], "\n")
	var ours []byte
	for _, signature := range signatures {
		parts := strings.Split(signature, " ")
		require(len(parts) == 3 && parts[0] == "\u2014", "it has an invalid signature line")
		raw := decoded(parts[2])
		if ours == nil && parts[1] == key.name && bytes.HasPrefix(raw, key.id) {
			ours = raw[4:]
		}
	}
	require(ours != nil && ed25519.Verify(key.public, []byte(text), ours), "it has no valid signature of the key")
	return text, len(signatures)
}

type treeHead struct {
	size uint64
	root string
}

// openCheckpoint returns the size and the root of a checkpoint that the key has signed.
func openCheckpoint(note string, key verifierKey) treeHead {
	text, _ := openNote(note, key)
	lines := strings.Split(text, "\n")
	require(len(lines) >= 4 && lines[0] == key.name, "its first line is not the name of the key")
	return treeHead{integer(json.Number(lines[1])), string(hashIn(lines[2]))}
}

func checkManifest(files map[string][]byte, key verifierKey) {
	var others, hashes []string
	about("manifest.txt", func() {
		text, signatures := openNote(string(files["manifest.txt"]), key)
		lines := strings.Split(text, "\n")
		require(signatures == 1, "it has more than one signature")
		require(lines[0] == format, "it does not start with %s", format)
		var expected, found []string
		for _, name := range names {
			if name != "manifest.txt" {
				others, expected = append(others, name), append(expected, "  "+name)
			}
		}
		for _, line := range lines[1:] {
			hash := line[:min(64, len(line))]
			hashes, found = append(hashes, hash), append(found, line[len(hash):])
		}
		same := strings.Join(found, "\n") == strings.Join(append(expected, ""), "\n")
		require(same, "it does not name exactly the files of a package")
	})
	for place, name := range others {
		found := hex.EncodeToString(hashOf(files[name]))
		require(hashes[place] == found, "%s: its SHA-256 is not the one in manifest.txt", name)
	}
}

// 3. Encodings. Text is read strictly, so that no two programs can understand it differently

// object keeps the order of its members.
type object struct {
	names  []string
	values map[string]any
}

func (o object) has(name string) bool {
	_, has := o.values[name]
	return has
}

func (o object) get(name string) any {
	require(o.has(name), "it is malformed")
	return o.values[name]
}

func objectIn(value any) object {
	members, ok := value.(object)
	require(ok, "it is malformed")
	return members
}

// strictJSON returns the value: nil, a bool, string, json.Number with its text, []any or object.
func strictJSON(text string) any {
	require(utf8.ValidString(text) && json.Valid([]byte(text)), "it is malformed")
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return nextValue(decoder)
}

func nextValue(decoder *json.Decoder) any {
	token, err := decoder.Token()
	require(err == nil, "it is malformed")
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			list = append(list, nextValue(decoder))
		}
		_, err = decoder.Token()
		require(err == nil, "it is malformed")
		return list
	case json.Delim('{'):
		members := object{nil, map[string]any{}}
		for decoder.More() {
			name := str(nextValue(decoder))
			require(!members.has(name), "an object repeats a name")
			members.names = append(members.names, name)
			members.values[name] = nextValue(decoder)
		}
		_, err = decoder.Token()
		require(err == nil, "it is malformed")
		return members
	}
	return token
}

// fields returns the members of an object that has exactly these names.
func fields(value any, list, optional string) []any {
	members, ok := value.(object)
	expected, values := strings.Fields(list), []any{}
	for _, name := range expected {
		ok = ok && members.has(name)
		values = append(values, members.values[name])
	}
	count := len(expected)
	if optional != "" && members.has(optional) {
		count++
	}
	require(ok && len(members.names) == count, "an object does not have exactly these fields: %s", list)
	return values
}

func str(value any) string {
	text, ok := value.(string)
	require(ok, "a value is not a string")
	return text
}

func array(value any) []any {
	list, ok := value.([]any)
	require(ok, "a value is not an array")
	return list
}

var integerForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)

func integer(value any) uint64 {
	number, _ := value.(json.Number)
	parsed, err := strconv.ParseUint(string(number), 10, 53)
	require(err == nil && integerForm.MatchString(string(number)), "a value is not an integer from 0 to 2^53 - 1")
	return parsed
}

func decoded(text string) []byte {
	raw, err := base64.StdEncoding.DecodeString(text)
	require(err == nil && base64.StdEncoding.EncodeToString(raw) == text, "a value is not Base64 in its canonical form")
	return raw
}

func hashIn(value any) []byte {
	raw := decoded(str(value))
	require(len(raw) == 32, "a hash does not have 32 bytes")
	return raw
}

func hashesIn(value any) [][]byte {
	hashes := [][]byte{}
	for _, each := range array(value) {
		hashes = append(hashes, hashIn(each))
	}
	return hashes
}

func hashOf(parts ...[]byte) []byte {
	sum := sha256.Sum256(join(parts...))
	return sum[:]
}

// 4. Proofs

// climb runs the loop of RFC 9162. It returns the root of the older tree (low) and of the newer tree (high).
func climb(place, last uint64, low, high []byte, proof [][]byte) (string, string) {
	for _, sibling := range proof {
		require(last > 0, "its proof is too long")
		if place%2 == 1 || place == last {
			low, high = hashOf([]byte{1}, sibling, low), hashOf([]byte{1}, sibling, high)
			for place%2 == 0 && place > 0 {
				place, last = place/2, last/2
			}
		} else {
			high = hashOf([]byte{1}, high, sibling)
		}
		place, last = place/2, last/2
	}
	require(last == 0, "its proof is too short")
	return string(low), string(high)
}

var placeForm = regexp.MustCompile(`^\["[^"]*",("[^"\\]*",[0-9]+,[0-9]+),`)

// entryOf returns a leaf of the tree, which has the SHA-256 of a long one.
func entryOf(leaf string) string {
	place := placeForm.FindStringSubmatch(leaf)
	if len(leaf) <= 65535 || place == nil {
		return leaf
	}
	return `["transferd/2 sha256",` + place[1] + `,"` + hex.EncodeToString(hashOf([]byte(leaf))) + `"]`
}

func isIncluded(leaf string, index uint64, head treeHead, proof [][]byte) bool {
	require(index < head.size, "its index is not in the tree")
	leafHash := hashOf([]byte{0}, []byte(leaf))
	_, root := climb(index, head.size-1, leafHash, leafHash, proof)
	return root == head.root
}

func isContinued(older, newer treeHead, proof [][]byte) bool {
	if older.size == newer.size {
		return len(proof) == 0 && older.root == newer.root
	}
	if older.size == 0 {
		return len(proof) == 0 && older.root == string(hashOf())
	}
	require(older.size < newer.size, "it is larger than the newer one")
	if older.size&(older.size-1) == 0 {
		proof = append([][]byte{[]byte(older.root)}, proof...)
	}
	require(len(proof) > 0, "its proof is too short")
	place, last := older.size-1, newer.size-1
	for place%2 == 1 {
		place, last = place/2, last/2
	}
	low, high := climb(place, last, proof[0], proof[0], proof[1:])
	return low == older.root && high == newer.root
}

// 5. The events

type evidence struct {
	trackingID, origin string
	head               treeHead
	older              *treeHead
	events             []*event
}

// event is an event of the log. If personal data is disclosed, commitments has the hash of each personal field,
// disclosedNames the disclosed ones in their order, and disclosed their JSON texts.
type event struct {
	index, revision, recordedAtMs uint64
	leaf, stream, id, kind        string
	data, metadata                object
	commitments, disclosedNames   []string
	disclosed                     map[string]string
}

func parseEvent(index uint64, leaf string) *event {
	e := &event{index: index, leaf: leaf, disclosed: map[string]string{}}
	parts := array(strictJSON(leaf))
	require(len(parts) == 5, "it is malformed")
	require(parts[0] == "transferd/2 event" || parts[0] == "transferd/2 redacted", "its leaf has an unknown form")
	e.stream, e.revision, e.recordedAtMs = str(parts[1]), integer(parts[2]), integer(parts[3])
	content := array(parts[4])
	require(len(content) == 4, "it is malformed")
	var hasData, hasMetadata bool
	e.data, hasData = content[2].(object)
	e.metadata, hasMetadata = content[3].(object)
	require(hasData && hasMetadata, "its data or metadata is not an object")
	e.id = str(content[0])
	require(!strings.Contains(e.stream+e.id, "\n"), "its stream or id has a newline")
	e.kind = str(content[1])
	str(e.metadata.values["actor"])
	return e
}

var trackingIDForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

func readEvidence(text string, key verifierKey) evidence {
	file := strictJSON(text)
	parts := fields(file, "format trackingId checkpoint events disclosed", "older")
	require(parts[0] == format, "its format is not %s", format)
	require(trackingIDForm.MatchString(str(parts[1])), "its trackingId is invalid")
	found := evidence{trackingID: str(parts[1]), origin: key.name}
	about("checkpoint", func() {
		found.head = openCheckpoint(str(parts[2]), key)
	})
	for _, each := range array(parts[3]) {
		listed := fields(each, "index leaf proof", "")
		index, leaf := integer(listed[0]), str(listed[1])
		about(fmt.Sprintf("event %d", index), func() {
			if count := len(found.events); count > 0 {
				last := found.events[count-1].index
				require(index > last, "it follows event %d", last)
			}
			require(isIncluded(entryOf(leaf), index, found.head, hashesIn(listed[2])), "it is not in the tree of the checkpoint")
			found.events = append(found.events, parseEvent(index, leaf))
		})
	}
	checkStreams(found.trackingID, found.events)
	disclose(parts[4], found.events)
	checkWallets(found.trackingID, found.events)
	if older, has := file.(object).values["older"]; has {
		about("older", func() {
			parts := fields(older, "checkpoint proof", "")
			head := openCheckpoint(str(parts[0]), key)
			require(isContinued(head, found.head, hashesIn(parts[1])), "the log of the checkpoint does not continue it")
			found.older = &head
		})
	}
	return found
}

// checkStreams checks that these are the events of the table in docs/auditing/evidence.md. If a package has a part of a
// stream only, no check shows that this part is complete.
func checkStreams(trackingID string, events []*event) {
	expected, ofTransfer := map[string]uint64{}, []*event{}
	for _, e := range events {
		next := expected[e.stream]
		isPart := startsWith(e.stream, "payouts-", "bankentries-", "wallet-")
		holds := e.revision == next || (isPart && e.revision > next)
		require(holds, "event %d: %s has revision %d instead of %d", e.index, e.stream, e.revision, next)
		expected[e.stream] = e.revision + 1
		if e.stream == "transfer-"+trackingID {
			ofTransfer = append(ofTransfer, e)
		}
	}
	require(len(ofTransfer) > 0, "transfer-%s: it has no events", trackingID)
	created, last := ofTransfer[0], ofTransfer[len(ofTransfer)-1].index
	var merchantID, privacy string
	about(fmt.Sprintf("event %d", created.index), func() {
		require(created.kind == "DepositCreated" || created.kind == "WithdrawalCreated", "it does not create a transfer")
		merchantID = str(created.data.values["merchantId"])
		if sealed := created.data.values["sealed"]; sealed != nil {
			privacy = "privacy-" + sealedParts(sealed)[1]
		}
	})
	users, isUser, payments := []string{}, map[string]bool{}, map[string]bool{}
	for _, e := range ofTransfer {
		about(fmt.Sprintf("event %d", e.index), func() {
			for _, actor := range []any{e.metadata.values["actor"], e.data.values["by"], e.data.values["proposedBy"]} {
				if actor == nil || !strings.HasPrefix(str(actor), "user:") {
					continue
				}
				user := "user-" + str(actor)[len("user:"):]
				if !isUser[user] {
					users, isUser[user] = append(users, user), true
				}
			}
			if e.kind == "BankPaymentMatched" {
				payments[str(e.data.values["bankPaymentId"])] = true
			}
		})
	}
	isOwn := map[string]bool{
		"transfer-" + trackingID: true, "payment-" + trackingID: true,
		"callback-" + trackingID: true, "payouts-" + merchantID: true,
	}
	after := map[string]bool{}
	for _, e := range events {
		ofThis := e.data.values["trackingId"] == trackingID
		belongs := false
		switch {
		case e.stream == "merchant-"+merchantID || e.stream == "integrity-log" || isUser[e.stream]:
			holds := e.index < last || !after[e.stream]
			require(holds, "event %d: %s has two events after the transfer's last one", e.index, e.stream)
			after[e.stream] = e.index > last
			belongs = true
		case startsWith(e.stream, "bankentries-"):
			payment, _ := e.data.values["paymentId"].(string)
			belongs = ofThis || (e.kind == "BankPaymentRecorded" && payments[payment])
		case startsWith(e.stream, "wallet-") || isOwn[e.stream]:
			belongs = ofThis
		default:
			belongs = e.stream == "installation-currency" || (privacy != "" && e.stream == privacy)
		}
		require(belongs, "event %d: it is an event of %s that does not belong in the package", e.index, e.stream)
	}
	for _, stream := range append([]string{"merchant-" + merchantID, "installation-currency"}, users...) {
		require(expected[stream] > 0, "%s: its events are missing", stream)
	}
}

func startsWith(text string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// kindOf returns the name of a stream before its first hyphen.
func kindOf(stream string) string {
	kind, _, _ := strings.Cut(stream, "-")
	return kind
}

var accountForm = regexp.MustCompile(`^[1-9][0-9]*$`)

func checkWallets(trackingID string, events []*event) {
	paid := map[string]bool{}
	for _, e := range events {
		if value, has := e.disclosed["accountNumber"]; has && e.stream == "payment-"+trackingID {
			paid[value] = true
		}
	}
	for _, e := range events {
		if account, is := strings.CutPrefix(e.stream, "wallet-"); is {
			holds := accountForm.MatchString(account) && paid[account]
			require(holds, "event %d: %s names an account that is not disclosed", e.index, e.stream)
		}
	}
}

// 6. Disclosed personal data

var sealedForm = regexp.MustCompile(`^c2\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]+)$`)
var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
var fieldForm = regexp.MustCompile(`^[A-Za-z]{1,64}$`)

// sealedParts splits the field sealed into the id of the key, the commitment and the ciphertext, from 1.
func sealedParts(sealed any) []string {
	parts := sealedForm.FindStringSubmatch(str(sealed))
	require(parts != nil, "its field sealed has an unknown form")
	return parts
}

// disclose checks the disclosed fields against the commitments in the events, and adds them to the events.
func disclose(disclosed any, events []*event) {
	byIndex := map[uint64]*event{}
	for _, e := range events {
		byIndex[e.index] = e
	}
	last, isFirst := uint64(0), true
	for _, each := range array(disclosed) {
		parts := fields(each, "index hashes fields", "")
		index := integer(parts[0])
		about(fmt.Sprintf("personal data of event %d", index), func() {
			require(isFirst || index > last, "it follows that of event %d", last)
			last, isFirst = index, false
			e := byIndex[index]
			require(e != nil, "the package does not contain the event")
			hashes := []string{}
			for _, hash := range array(parts[1]) {
				require(hashForm.MatchString(str(hash)), "a hash does not have 64 hex digits")
				hashes = append(hashes, str(hash))
			}
			commitment := hashOf([]byte(strings.Join(append([]string{"transferd-fields/1"}, hashes...), "\n")))
			expected := base64.RawURLEncoding.EncodeToString(commitment)
			require(sealedParts(e.data.values["sealed"])[2] == expected, "its hashes do not match the event")
			e.commitments = hashes
			discloseFields(e, array(parts[2]))
		})
	}
}

func discloseFields(e *event, list []any) {
	next := uint64(0)
	for _, each := range list {
		parts := fields(each, "at field salt value", "")
		at, name := integer(parts[0]), str(parts[1])
		require(at >= next && at < uint64(len(e.commitments)), "the places of its fields are wrong")
		next = at + 1
		require(fieldForm.MatchString(name), "the name of a field is invalid")
		about(name, func() {
			_, isDisclosed := e.disclosed[name]
			require(!e.data.has(name) && !isDisclosed, "the event already has this field")
			salt := str(parts[2])
			require(len(decoded(salt)) == 16, "its salt does not have 16 bytes")
			value := str(parts[3])
			lines := strings.Join([]string{"transferd-field/1", e.stream, e.id, name, salt, value}, "\n")
			require(hex.EncodeToString(hashOf([]byte(lines))) == e.commitments[at], "it has a different hash in the event")
			strictJSON(value)
			e.disclosed[name] = value
			e.disclosedNames = append(e.disclosedNames, name)
		})
	}
}

// 7. An earlier package or checkpoint

// checkEarlier checks that the log of the package continues the log of an earlier package or checkpoint.
func checkEarlier(data []byte, newer evidence, key verifierKey) {
	var earlier evidence
	if bytes.HasPrefix(data, []byte("PK")) {
		_, earlier = checkEvidence(data, key)
	} else {
		earlier.head = openCheckpoint(string(data), key)
	}
	size := earlier.head.size
	known := newer.head
	if newer.older != nil && newer.older.size == size {
		known = *newer.older
	}
	require(known.size == size,
		"the package does not continue its log of %d events: make the package with --from this checkpoint", size)
	require(known.root == earlier.head.root, "its log of %d events is different: the log was changed", size)
	leaves := map[uint64]string{}
	for _, e := range newer.events {
		leaves[e.index] = e.leaf
	}
	for _, e := range earlier.events {
		leaf, has := leaves[e.index]
		require(!has || leaf == e.leaf, "event %d is different", e.index)
	}
}

// 8. The reports

// report is the report that src/audit/evidence/report.ts makes of the same events and texts.
type report struct {
	evidence
	rules, texts, labels, values, names object
	own                                 []*event
	currency                            object
	erasure                             *event
	lines                               []string
}

func render(found evidence, texts any, language string) string {
	translated := objectIn(objectIn(texts).get(language))
	part := func(name string) object { return objectIn(translated.get(name)) }
	r := &report{evidence: found, rules: objectIn(objectIn(texts).get("rules"))}
	r.texts, r.labels, r.values, r.names = part("report"), part("fields"), part("values"), part("events")
	r.own = r.ofKind("transfer")
	r.currency = r.ofKind("installation")[0].data
	for _, e := range r.ofKind("privacy") {
		if e.kind == "CustomerErased" && r.erasure == nil {
			r.erasure = e
		}
	}
	first, css := r.own[0], str(objectIn(texts).get("css"))
	requested := r.money(minorIn(first.data.get("amountMinor")))
	statuses, changed := objectIn(r.rules.get("statuses")), (*event)(nil)
	for _, e := range r.own {
		if statuses.has(e.kind) {
			changed = e
		}
	}
	status := str(r.values.get("status." + str(statuses.get(changed.kind))))
	kind := "withdrawal"
	if first.kind == "DepositCreated" {
		kind = "deposit"
	}
	headline := r.text(kind, "amount", requested, "status", status)
	r.add("<!doctype html>",
		`<html lang="`+language+`">`,
		"<head>",
		`<meta charset="utf-8">`,
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		"<title>"+escaped(headline)+"</title>",
		"<style>"+css+"</style>",
		"</head>",
		"<body>",
		"<header>",
		"<p>"+escaped(r.text("document"))+"</p>",
		"<h1>"+escaped(headline)+"</h1>",
		"<p>"+escaped(r.trackingID)+"</p>",
		"</header>")
	r.addTransfer(status, changed)
	r.addAmounts(kind, requested)
	r.addSettings(kind)
	r.addPeople()
	r.addTimeline()
	r.addProof()
	r.add("</body>", "</html>", "")
	return strings.Join(r.lines, "\n")
}

func (r *report) add(lines ...string) {
	r.lines = append(r.lines, lines...)
}

func (r *report) fact(name, value string, sources ...*event) {
	cells := "<th>" + escaped(name) + "</th><td>" + escaped(value) + "</td>"
	r.add("<tr>" + cells + `<td class="leaf">` + leaves(sources...) + "</td></tr>")
}

func (r *report) section(name string, heads ...string) {
	r.add("<section>", "<h2>"+escaped(r.text(name))+"</h2>", "<table>")
	if len(heads) > 0 {
		cells := ""
		for _, head := range heads {
			cells += "<th>" + escaped(r.text(head)) + "</th>"
		}
		r.add("<thead><tr>" + cells + `<th class="leaf">` + escaped(r.text("leaf")) + "</th></tr></thead>")
	}
}

func (r *report) endSection() {
	r.add("</table>", "</section>")
}

func (r *report) row(e *event, cells ...string) {
	time := `<td class="time">` + escaped(recorded(e)) + "</td>"
	r.add("<tr>" + time + "<td>" + strings.Join(cells, "</td><td>") + `</td><td class="leaf">` + leaves(e) + "</td></tr>")
}

func (r *report) addTransfer(status string, changed *event) {
	first := r.own[0]
	r.section("transfer")
	r.fact(r.text("status"), status+", "+recorded(changed), changed)
	r.fact(r.label("referenceId"), plain(first.data.get("referenceId")), first)
	name := r.settingsBefore(first.index)["name"]
	r.fact(r.label("merchantId"), plain(name.value)+" ("+plain(first.data.get("merchantId"))+")", name.from, first)
	r.fact(r.label("paymentMethod"), plain(first.data.get("paymentMethod")), first)
	sources := []*event{first}
	if r.erasure != nil {
		sources = append(sources, r.erasure)
	}
	for _, shown := range r.personal(first) {
		r.fact(shown[0], shown[1], sources...)
	}
	r.endSection()
}

func (r *report) addAmounts(kind, requested string) {
	total := func(field string) *big.Int {
		sum := new(big.Int)
		for _, e := range r.own {
			if value := e.data.values[field]; value != nil {
				sum.Add(sum, minorIn(value))
			}
		}
		return sum
	}
	having := func(fields ...string) (found []*event) {
		for _, e := range r.own {
			for _, field := range fields {
				if !isNothing(e.data.values[field]) {
					found = append(found, e)
					break
				}
			}
		}
		return found
	}
	r.section("amounts")
	r.fact(r.text("requested"), requested, r.own[0])
	receipts := having("receivedAmountMinor", "receivedAmountChangeMinor")
	if kind == "deposit" && len(receipts) > 0 {
		sum := new(big.Int).Add(total("receivedAmountMinor"), total("receivedAmountChangeMinor"))
		r.fact(r.text("received"), r.money(sum), receipts...)
	}
	var booked *event
	for _, e := range r.own {
		if e.kind == "TransferCompleted" || e.kind == "TransferCorrected" {
			booked = e
		}
	}
	if booked != nil {
		r.fact(r.text("booked"), r.money(minorIn(booked.data.get("transactionAmountMinor"))), booked)
	}
	if returns := having("returnedAmountMinor"); len(returns) > 0 {
		r.fact(r.text("returned"), r.money(total("returnedAmountMinor")), returns...)
	}
	r.endSection()
}

func (r *report) addSettings(kind string) {
	first := r.own[0]
	r.section("settings")
	settings := r.settingsBefore(first.index)
	for _, each := range array(r.rules.get("settings").(object).get(kind)) {
		if set, has := settings[str(each)]; has {
			r.fact(r.label(str(each)), r.valueText(str(each), set.value, first.index), set.from)
		}
	}
	r.endSection()
}

func (r *report) addPeople() {
	roles, users, isKnown := []*event{}, []string{}, map[string]bool{}
	for _, e := range r.ofKind("user") {
		if e.index < r.last().index && r.isRule("people", e.kind) {
			roles = append(roles, e)
			if !isKnown[e.stream] {
				users, isKnown[e.stream] = append(users, e.stream), true
			}
		}
	}
	if len(roles) == 0 {
		return
	}
	r.section("people", "time", "name", "event")
	for _, user := range users {
		name := plain(r.before(user, r.head.size)[0].data.get("name"))
		for _, e := range roles {
			if e.stream != user {
				continue
			}
			details, data := []string{known(r.names, e.kind, "")}, e.data
			if data.has("role") {
				details = append(details, r.valueText("role", data.get("role"), e.index))
			}
			if merchants, is := data.values["merchantIds"].([]any); is {
				details = append(details, r.label("merchantIds")+" "+r.valueText("merchantIds", merchants, e.index))
			}
			if data.has("by") {
				details = append(details, r.person(plain(data.get("by")), e.index))
			}
			r.row(e, escaped(name), escaped(strings.Join(details, "; ")))
		}
	}
	r.endSection()
}

var timelineKinds = map[string]bool{
	"transfer": true, "payment": true, "callback": true, "payouts": true,
	"wallet": true, "bankentries": true, "privacy": true,
}

func (r *report) addTimeline() {
	first := r.own[0]
	r.section("timeline", "time", "event", "who")
	for _, e := range r.events {
		kind, actor := kindOf(e.stream), str(e.metadata.get("actor"))
		isRelated := kind == "integrity" || (kind == "merchant" && r.isRule("merchant", e.kind))
		isDuring := e.index > first.index && e.index < r.last().index
		if !timelineKinds[kind] && !(isRelated && isDuring) {
			continue
		}
		details := [][2]string{}
		for _, name := range e.data.names {
			value := e.data.get(name)
			isAmount := name == "amountMinor" && kind == "transfer" && e != first
			isRepeated := isAmount || (name == "by" && value == any(actor))
			if !r.isRule("hidden", name) && !isNothing(value) && !isRepeated {
				details = append(details, [2]string{r.label(name), r.valueText(name, value, e.index)})
			}
		}
		what, list := "<b>"+escaped(known(r.names, e.kind, e.kind))+"</b>", ""
		for _, detail := range append(details, r.personal(e)...) {
			list += "<dt>" + escaped(detail[0]) + "</dt><dd>" + escaped(detail[1]) + "</dd>"
		}
		if list != "" {
			what += "<dl>" + list + "</dl>"
		}
		r.row(e, what, escaped(r.person(actor, e.index)))
	}
	r.endSection()
}

func (r *report) addProof() {
	r.section("proof")
	root := base64.StdEncoding.EncodeToString([]byte(r.head.root))
	size, count := strconv.FormatUint(r.head.size, 10), strconv.Itoa(len(r.events))
	for _, proven := range [][2]string{{"log", r.origin}, {"treeSize", size}, {"root", root}, {"events", count}} {
		r.add("<tr><th>" + escaped(r.text(proven[0])) + `</th><td colspan="2">` + escaped(proven[1]) + "</td></tr>")
	}
	r.add("</table>", "<p>"+escaped(r.text("proofNote"))+"</p>", "<p>"+escaped(r.text("limits"))+"</p>", "</section>")
}

func (r *report) ofKind(kind string) (found []*event) {
	for _, e := range r.events {
		if kindOf(e.stream) == kind {
			found = append(found, e)
		}
	}
	return found
}

func (r *report) last() *event {
	return r.own[len(r.own)-1]
}

// before returns the events of a stream before an event.
func (r *report) before(stream string, index uint64) (found []*event) {
	for _, e := range r.events {
		if e.stream == stream && e.index < index {
			found = append(found, e)
		}
	}
	return found
}

func (r *report) isRule(rule, name string) bool {
	for _, each := range array(r.rules.get(rule)) {
		if each == name {
			return true
		}
	}
	return false
}

// text returns the text with the parts in it: the name and the text of each.
func (r *report) text(name string, parts ...string) string {
	whole := str(r.texts.get(name))
	for place := 0; place < len(parts); place += 2 {
		whole = strings.Replace(whole, "{"+parts[place]+"}", parts[place+1], 1)
	}
	return whole
}

func (r *report) label(field string) string {
	return known(r.labels, field, field)
}

func (r *report) money(minor *big.Int) string {
	digits := fmt.Sprintf("%03s", new(big.Int).Abs(minor))
	whole, cents, sign := digits[:len(digits)-2], "", ""
	for place := len(whole) - 3; place > 0; place -= 3 {
		whole = whole[:place] + r.text("group") + whole[place:]
	}
	if r.currency.values["decimals"] != json.Number("0") || !strings.HasSuffix(digits, "00") {
		cents = r.text("decimal") + digits[len(digits)-2:]
	}
	if minor.Sign() < 0 {
		sign = "-"
	}
	return sign + whole + cents + " " + plain(r.currency.get("currency"))
}

type setting struct {
	value any
	from  *event
}

// settingsBefore returns the merchant's settings before an event, each with the event that set it.
func (r *report) settingsBefore(index uint64) map[string]setting {
	settings := map[string]setting{}
	for _, e := range r.ofKind("merchant") {
		changes := e.data.values["settings"]
		if changes == nil {
			changes = e.data.values["changes"]
		}
		if members, is := changes.(object); is && e.index < index {
			for name, value := range members.values {
				settings[name] = setting{value, e}
			}
		}
	}
	return settings
}

func (r *report) person(actor string, index uint64) string {
	kind, name, _ := strings.Cut(actor, ":")
	if !strings.Contains(actor, ":") {
		kind = ""
	}
	switch kind {
	case "user":
		before := r.before("user-"+name, index)
		if len(before) == 0 || !before[0].data.has("name") {
			return actor
		}
		var role *event
		for _, e := range before {
			if e.data.has("role") {
				role = e
			}
		}
		return plain(before[0].data.get("name")) + " (" + r.valueText("role", role.data.get("role"), index) + ")"
	case "merchant":
		if value := r.settingsBefore(index)["name"].value; value != nil {
			name = plain(value)
		}
		return name + " (" + r.text("merchant") + ")"
	case "cli":
		return name + " (" + r.text("cli") + ")"
	case "system":
		return r.text("system") + " (" + name + ")"
	}
	if actor == "customer" {
		return r.text("customer")
	}
	return actor
}

var amountForm = regexp.MustCompile(`^-?[0-9]{1,30}$`)
var timeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`)

func (r *report) valueText(field string, value any, index uint64) string {
	parts := []string{}
	switch value := value.(type) {
	case nil:
		return r.text("none")
	case bool:
		return r.text(map[bool]string{true: "yes", false: "no"}[value])
	case []any:
		for _, each := range value {
			parts = append(parts, r.valueText(field, each, index))
		}
	case object:
		for _, name := range value.names {
			parts = append(parts, r.label(name)+" "+r.valueText(name, value.get(name), index))
		}
	default:
		return r.givenText(field, plain(value), index)
	}
	if len(parts) == 0 {
		return r.text("none")
	}
	return strings.Join(parts, ", ")
}

func (r *report) givenText(field, given string, index uint64) string {
	switch {
	case strings.HasSuffix(field, "Minor") && amountForm.MatchString(given):
		return r.money(minorIn(given))
	case strings.HasSuffix(field, "Ms"):
		return given + " ms"
	case timeForm.MatchString(given):
		return given[:10] + " " + given[11:19] + " UTC"
	case r.isRule("actors", field):
		return r.person(given, index)
	case field == "merchantIds" && given == plain(r.own[0].data.get("merchantId")):
		if name, has := r.settingsBefore(index)["name"]; has {
			return plain(name.value)
		}
		return given
	}
	return known(r.values, field+"."+given, given)
}

// personal returns the personal fields of an event as label and value, and what is not disclosed of them.
func (r *report) personal(e *event) (shown [][2]string) {
	switch {
	case !e.data.has("sealed"):
		return nil
	case r.erasure != nil && !strings.HasPrefix(e.stream, "bankentries-"):
		return [][2]string{{r.text("personal"), r.text("erased", "time", recorded(r.erasure))}}
	case e.commitments == nil:
		return [][2]string{{r.text("personal"), r.text("notDisclosed")}}
	}
	for _, name := range e.disclosedNames {
		value := e.disclosed[name]
		if content, is := strictJSON(value).(string); is {
			value = content
		}
		shown = append(shown, [2]string{r.label(name), value})
	}
	if rest := len(e.commitments) - len(shown); rest > 0 {
		shown = append(shown, [2]string{r.text("personal"), r.text("restNotDisclosed", "count", strconv.Itoa(rest))})
	}
	return shown
}

func known(texts object, name, otherwise string) string {
	if texts.has(name) {
		return str(texts.get(name))
	}
	return otherwise
}

func leaves(events ...*event) string {
	places := []string{}
	for _, e := range events {
		places = append(places, fmt.Sprintf("#%d", e.index))
	}
	return strings.Join(places, " ")
}

const year10000Ms = 253402300800000

func recorded(e *event) string {
	require(e.recordedAtMs < year10000Ms, "it is malformed")
	return time.UnixMilli(int64(e.recordedAtMs)).UTC().Format("2006-01-02 15:04:05 UTC")
}

// plain returns a string, or the text of any other value that is not an array or an object.
func plain(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return string(value)
	case bool:
		return strconv.FormatBool(value)
	case nil:
		return "null"
	}
	panic(wrong("a value is not a string"))
}

func minorIn(value any) *big.Int {
	require(amountForm.MatchString(plain(value)), "a value is not an amount")
	minor, _ := new(big.Int).SetString(plain(value), 10)
	return minor
}

func isNothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == "" || value == "0"
	case []any:
		return len(value) == 0
	case object:
		return len(value.names) == 0
	}
	return false
}

// Characters without a shape of their own, which could hide or reorder others. These are ranges instead of Unicode's
// categories, which differ between the versions of the languages.
var special = regexp.MustCompile("[&<>\"\x00-\x1f\x7f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f" +
	"\ufeff\ufff9-\ufffd\U000e0000-\U000e007f]")
var entities = map[string]string{"&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"}

// escaped returns a text for HTML, with hidden characters as \u and their number. Go reads half of a surrogate pair as
// U+FFFD.
func escaped(text string) string {
	return special.ReplaceAllStringFunc(text, func(character string) string {
		if entity, has := entities[character]; has {
			return entity
		}
		code, _ := utf8.DecodeRuneInString(character)
		return fmt.Sprintf("\\u%04x", code)
	})
}

func checkReports(files map[string][]byte, found evidence) {
	texts := strictJSON(string(files["texts.json"]))
	for _, report := range reports {
		name, language := report[0], report[1]
		about(name, func() {
			expected := render(found, texts, language)
			if different := firstDifference(files[name], []byte(expected)); different >= 0 {
				line := 1 + strings.Count(expected[:different], "\n")
				require(false, "line %d is not what the events say", line)
			}
		})
	}
}

// check returns the content of a valid package.
func check(data []byte, key verifierKey) evidence {
	files, found := checkEvidence(data, key)
	texts := hex.EncodeToString(hashOf(files["texts.json"]))
	require(texts == textsSHA256, "texts.json: these are not the texts of this version")
	checkReports(files, found)
	return found
}

// checkEvidence returns the files and the content of a package whose report may be that of another version.
func checkEvidence(data []byte, key verifierKey) (files map[string][]byte, found evidence) {
	about("container", func() { files = unpack(data) })
	checkManifest(files, key)
	about("evidence.json", func() { found = readEvidence(string(files["evidence.json"]), key) })
	return files, found
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	require(err == nil, "it cannot be read")
	return data
}

func summary(found evidence, key verifierKey) string {
	isDisclosed, disclosed := map[string]bool{}, []string{}
	for _, e := range found.events {
		for name := range e.disclosed {
			if !isDisclosed[name] {
				isDisclosed[name], disclosed = true, append(disclosed, name)
			}
		}
	}
	sort.Strings(disclosed)
	if len(disclosed) == 0 {
		disclosed = []string{"no personal data"}
	}
	continues := "no log that you know: the package was made without --from"
	if found.older != nil {
		continues = fmt.Sprintf("a log of %d events", found.older.size)
	}
	root := base64.StdEncoding.EncodeToString([]byte(found.head.root))
	return fmt.Sprintf("Transfer:   %s\nEvents:     %d\n", found.trackingID, len(found.events)) +
		fmt.Sprintf("Checkpoint: %d events, root %s\nSigned by:  %s\n", found.head.size, root, key.text) +
		fmt.Sprintf("Disclosed:  %s\nContinues:  %s\n", strings.Join(disclosed, ", "), continues)
}

func main() {
	flags := flag.NewFlagSet("verify.go", flag.ExitOnError)
	keyText := flags.String("key", "", "the log's verifier `key`, from a trusted source")
	earlierPath := flags.String("earlier", "", "an earlier package or checkpoint `file` of the log")
	_ = flags.Parse(os.Args[1:])
	path := flags.Arg(0)
	if flags.NArg() > 0 {
		_ = flags.Parse(flags.Args()[1:])
	}
	if path == "" || *keyText == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: verify.go PACKAGE.zip --key VERIFIER_KEY [--earlier EARLIER.zip|CHECKPOINT_FILE]")
		os.Exit(2)
	}
	defer func() {
		if reason := recover(); reason != nil {
			printable := func(c rune) rune {
				if strconv.IsPrint(c) {
					return c
				}
				return '?'
			}
			fmt.Fprintln(os.Stderr, "The package is invalid: "+strings.Map(printable, fmt.Sprint(reason)))
			os.Exit(1)
		}
	}()
	var key verifierKey
	var data []byte
	about("key", func() { key = parseKey(*keyText) })
	about(path, func() { data = read(path) })
	found := check(data, key)
	if *earlierPath != "" {
		about("earlier", func() { checkEarlier(read(*earlierPath), found, key) })
	}
	fmt.Print(summary(found, key) + "The package is valid.\n")
}
