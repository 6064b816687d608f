import fc from 'fast-check'
import t from 'tap'
import { encrypt } from '../../src/kernel/sodium.js'
import { createSecretBox, digestKeyOf, idOfMasterKey, keyIdOf, SecretBoxError } from '../../src/security/secret-box.js'

const masterKey = Buffer.alloc(32, 7)
const box = createSecretBox(masterKey)
const owner = 'merchant:6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11:secretKey'
const secret = 'sk_never-shown'

function replacePart(sealed: string, index: number, change: (part: string) => string): string {
  return sealed
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.')
}

t.test('opens any sealed text for its owner', async (t) => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string(), (text, anyOwner) => {
      t.equal(box.open(box.seal(text, anyOwner), anyOwner), text)
    }),
    { numRuns: 50 },
  )
})

t.test('seals a secret to a different text each time, which does not contain the secret', async (t) => {
  const [first, second] = [box.seal(secret, owner), box.seal(secret, owner)]
  t.not(first, second)
  t.match(first, /^v1\.[0-9a-f]{8}\.[\w-]{72}$/)
  t.notMatch(first, secret)
})

t.test('rejects an empty secret and a master key of the wrong length', async (t) => {
  t.throws(() => box.seal('', owner), SecretBoxError)
  for (const length of [0, 16, 31, 33]) t.throws(() => createSecretBox(Buffer.alloc(length)), SecretBoxError)
})

t.test('names the key id of text that is sealed with another master key', async (t) => {
  const other = createSecretBox(Buffer.alloc(32, 8))
  t.throws(() => other.open(box.seal(secret, owner), owner), {
    name: 'SecretBoxError',
    message: /sealed with master key ab2e5015, but only [0-9a-f]{8} is available$/,
  })
})

t.test('does not open a secret for another merchant or purpose', async (t) => {
  const sealed = box.seal(secret, owner)
  for (const other of [owner.replace('6f6a', '6f6b'), owner.replace('secretKey', 'webhookSecret'), '']) {
    t.throws(() => box.open(sealed, other), SecretBoxError)
  }
})

t.test('detects a change of any character without revealing the secret in the error', async (t) => {
  const sealed = box.seal(secret, owner)
  for (let index = 0; index < sealed.length; index++) {
    const swapped = sealed[index] === 'A' ? 'B' : 'A'
    const altered = `${sealed.slice(0, index)}${swapped}${sealed.slice(index + 1)}`
    try {
      box.open(altered, owner)
      t.fail(`opened with character ${index} altered`)
    } catch (error) {
      t.ok(error instanceof SecretBoxError, `character ${index}`)
      t.notMatch(String(error), secret)
    }
  }
})

t.test('rejects truncated, empty, missing, additional or padded parts', async (t) => {
  const sealed = box.seal(secret, owner)
  const wrong = [
    ...[0, 1, 24, 40, 53].map((count) =>
      replacePart(sealed, 2, (text) => Buffer.from(text, 'base64url').subarray(0, count).toString('base64url')),
    ),
    ...[1, 2].map((part) => replacePart(sealed, part, () => '')),
    replacePart(sealed, 2, (text) => `${text}=`),
    replacePart(sealed, 2, (text) => ` ${text}`),
    sealed.split('.').slice(0, 2).join('.'),
    `${sealed}.more`,
    sealed.replace('v1', 'v2'),
    '',
    secret,
  ]
  for (const text of wrong) t.throws(() => box.open(text, owner), SecretBoxError, text)
})

t.test('does not open a ciphertext made with the master key instead of the derived key', async (t) => {
  const sealed = encrypt(masterKey, Buffer.from(secret), Buffer.from(owner)).toString('base64url')
  t.throws(
    () =>
      box.open(
        replacePart(box.seal(secret, owner), 2, () => sealed),
        owner,
      ),
    SecretBoxError,
  )
})

t.test('opens text sealed by an earlier release', async (t) => {
  const sealed = 'v1.ab2e5015.LiXsDVxFyXW8g41z6j0BXfWJvkEgLZo25poQuWdoN1nESSdXfUxHQ2cUWsBlZb_q40sPzdr1'
  t.equal(box.open(sealed, owner), secret)
})

t.test('a MAC depends only on purpose, text and master key', async (t) => {
  const other = createSecretBox(Buffer.alloc(32, 8))
  t.equal(box.mac('page', 'a'), createSecretBox(masterKey).mac('page', 'a'))
  const all = [box.mac('page', 'a'), box.mac('page', 'b'), box.mac('link', 'a'), other.mac('page', 'a')]
  t.equal(new Set(all).size, all.length)
})

t.test('computes the same digests as an earlier release', async (t) => {
  t.equal(box.mac('page', 'a'), 'R_6nhyWajTjQ0qkYu8FpvyzD8T17EyyVRsWkh4egQLA')
})

t.test('a box with several keys seals with the current key and opens text sealed with any of them', async (t) => {
  const [old, current] = [Buffer.alloc(32, 8), Buffer.alloc(32, 9)]
  const ring = createSecretBox({ current, others: [masterKey, old] })
  t.equal(keyIdOf(ring.seal(secret, owner)), idOfMasterKey(current))
  for (const key of [masterKey, old, current])
    t.equal(ring.open(createSecretBox(key).seal(secret, owner), owner), secret)
  t.throws(() => ring.open(createSecretBox(Buffer.alloc(32, 10)).seal(secret, owner), owner), SecretBoxError)
  const named = createSecretBox(old).seal(secret, owner).replace(idOfMasterKey(old), idOfMasterKey(current))
  t.throws(() => ring.open(named, owner), SecretBoxError, 'only the named key opens it')
})

t.test('resealing changes only the key, and leaves text unchanged that already uses it', async (t) => {
  const ring = createSecretBox({ current: Buffer.alloc(32, 9), others: [masterKey] })
  const resealed = ring.reseal(box.seal(secret, owner), owner)
  t.equal(createSecretBox(Buffer.alloc(32, 9)).open(resealed, owner), secret)
  t.equal(ring.reseal(resealed, owner), resealed)
  t.throws(() => ring.reseal(box.seal(secret, owner), 'merchant:other:secretKey'), SecretBoxError)
})

t.test('digests do not depend on the sealing key if the first key is unchanged', async (t) => {
  const later = createSecretBox({ current: Buffer.alloc(32, 9), digestKey: digestKeyOf(masterKey) })
  t.equal(later.mac('user email', 'ada@shop.example'), box.mac('user email', 'ada@shop.example'))
})
