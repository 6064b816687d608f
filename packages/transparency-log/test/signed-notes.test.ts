import { throws } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { formatCheckpoint, openCheckpoint, parseCheckpoint } from '../src/checkpoint.js'
import { leafHash } from '../src/merkle-hash.js'
import { formatVerifier, generateSigner, parseSigner, parseVerifier } from '../src/note-keys.js'
import { cosign, openNote, parseNote, signNote } from '../src/signed-note.js'
import { publicNotes } from './public-vectors.js'

const log = parseSigner(generateSigner('log.example/transferd'))
const other = parseSigner(generateSigner('other.example'))
const witness = parseSigner(generateSigner('witness.example', 'cosignature'))
const checkpoint = { origin: log.name, size: 42, root: leafHash(Buffer.from('a')) }
const text = formatCheckpoint(checkpoint)
const signed = signNote(text, [log])

function flipped(text: string, bit: number): string {
  const bytes = Buffer.from(text)
  bytes[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7)
  return bytes.toString('utf8')
}

t.test('rejects a checkpoint with any changed bit', async (t) => {
  t.match(openCheckpoint(signed, log), checkpoint)
  fc.assert(
    fc.property(fc.nat(), (bit) => {
      throws(() => openCheckpoint(flipped(signed, bit), log), { name: 'VerificationError' })
    }),
    { numRuns: 500 },
  )
})

t.test('verifies the signatures of known keys and ignores unknown keys', async (t) => {
  const note = signNote('a text\n', [log, other])
  t.strictSame(
    openNote(note, [other, log]).signatures.map(({ name }) => name),
    [other.name, log.name],
  )
  t.strictSame(
    openNote(note, [log]).signatures.map(({ name }) => name),
    [log.name],
  )
  const otherSigner = parseSigner(generateSigner(log.name))
  t.throws(
    () => openNote(note, [otherSigner]),
    /no signature by a known key/,
    'a different key with the same name is unknown',
  )
  t.throws(() => openNote(note.replace('a text', 'a test'), [log]), /signature by log\.example.* is invalid/)
})

t.test('rejects a malformed note', async (t) => {
  const line = signed.slice(text.length + 1)
  for (const note of [
    ...['', '\n', text, `${text}\n`, `${text}\n${line.slice(0, -1)}`, `${text}${line}`],
    ...[`\u0001${text}\n${line}`, `${text}\n${line}an unexpected line\n`, `${text}\n— Bad Name ${line.split(' ')[2]}`],
    ...[`${text}\n${line.replace('— ', '- ')}`, `${text}\n— name AAAA\n`, `${text}\n${line.repeat(101)}`],
    ...[`${text}\n${line.replace('\n', '=\n')}`, `${text}\n${line.replace('\n', '\r\n')}`],
  ]) {
    t.throws(() => parseNote(note), { name: 'VerificationError' }, JSON.stringify(note.slice(0, 80)))
  }
})

t.test('rejects a malformed checkpoint even if it is signed', async (t) => {
  const root = checkpoint.root.toString('base64')
  for (const text of [
    ...[
      `${log.name}\n042\n${root}\n`,
      `${log.name}\n-1\n${root}\n`,
      `${log.name}\n4.2\n${root}\n`,
      `${log.name}\n42\n`,
    ],
    ...[
      `${log.name}\n42\n${root.slice(4)}\n`,
      `\n42\n${root}\n`,
      `${log.name}\n42\n${root}\n\n`,
      `${log.name}\n9007199254740993\n${root}\n`,
    ],
  ]) {
    t.throws(() => openCheckpoint(signNote(text, [log]), log), { name: 'VerificationError' }, JSON.stringify(text))
  }
  const foreign = signNote(formatCheckpoint({ ...checkpoint, origin: 'another' }), [log])
  t.throws(() => openCheckpoint(foreign, log), /belongs to another, not to log\.example/)
  t.equal(parseCheckpoint(`${text}an extension\n`).size, 42, 'ignores additional lines')
})

t.test('a cosignature covers the checkpoint and the time', async (t) => {
  const line = cosign(text, witness, 1_700_000_000)
  const opened = openCheckpoint(`${signed}${line}\n`, log, [witness])
  t.match(opened.cosignatures, [{ name: 'witness.example', timeS: 1_700_000_000 }])
  t.strictSame(
    openCheckpoint(`${signed}${line}\n`, log).cosignatures,
    [],
    'ignores the cosignature of an unrequested witness',
  )
  const bytes = Buffer.from(line.split(' ')[2]!, 'base64')
  for (let bit = 32; bit < bytes.length * 8; bit += 31) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    const note = `${signed}— ${witness.name} ${changed.toString('base64')}\n`
    t.throws(() => openCheckpoint(note, log, [witness]), { name: 'VerificationError' })
  }
  t.throws(() => openCheckpoint(`${text}\n${line}\n`, log, [witness]), /no signature by log\.example/)
  t.throws(() => signNote(text, [witness]), TypeError)
})

t.test('parses a formatted key, rejects a changed one, and shows no key in a message', async (t) => {
  const secret = generateSigner('a.example')
  t.equal(formatVerifier(parseVerifier(formatVerifier(parseSigner(secret)))), formatVerifier(parseSigner(secret)))
  const { verifier } = publicNotes.signed
  const wrong = [...verifier].map(
    (_, place) => verifier.slice(0, place) + (verifier[place] === 'A' ? 'B' : 'A') + verifier.slice(place + 1),
  )
  for (const text of [
    ...wrong.filter((_, place) => place % 4 === 0),
    verifier.slice(1),
    `${verifier}A`,
    '',
    '+',
    secret,
  ]) {
    t.throws(() => parseVerifier(text), { name: 'VerificationError' }, text)
  }
  const changed = secret.replace(/.{4}$/, 'AAAA')
  t.throws(() => parseSigner(changed), { name: 'VerificationError', message: /^(?!.*AAAA)/ })
  for (const name of ['', 'a b', 'a+b', 'a\nb', 'a\u2028b'])
    t.throws(() => generateSigner(name), { name: 'VerificationError' })
})
