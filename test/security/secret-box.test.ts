import { createCipheriv, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
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

t.test('what was sealed opens again for the same owner, any text', async (t) => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string(), (text, anyOwner) => {
      t.equal(box.open(box.seal(text, anyOwner), anyOwner), text)
    }),
    { numRuns: 50 },
  )
})

t.test('sealing twice gives two texts, and neither holds the secret', async (t) => {
  const [first, second] = [box.seal(secret, owner), box.seal(secret, owner)]
  t.not(first, second)
  t.match(first, /^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/)
  t.notMatch(first, secret)
})

t.test('an empty secret and a master key of another length are refused', async (t) => {
  t.throws(() => box.seal('', owner), SecretBoxError)
  for (const length of [0, 16, 31, 33]) t.throws(() => createSecretBox(Buffer.alloc(length)), SecretBoxError)
})

t.test('another master key is named as such, by key id', async (t) => {
  const other = createSecretBox(Buffer.alloc(32, 8))
  t.throws(() => other.open(box.seal(secret, owner), owner), {
    name: 'SecretBoxError',
    message: /sealed with master key ab2e5015, but only [0-9a-f]{8} is available$/,
  })
})

t.test('a secret moved to another merchant or another purpose does not open', async (t) => {
  const sealed = box.seal(secret, owner)
  for (const other of [owner.replace('6f6a', '6f6b'), owner.replace('secretKey', 'webhookSecret'), '']) {
    t.throws(() => box.open(sealed, other), SecretBoxError)
  }
})

t.test('a change in any character of any part is found, and the error does not tell the secret', async (t) => {
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

t.test('parts that are cut, empty, missing, too many or padded are refused', async (t) => {
  const sealed = box.seal(secret, owner)
  const tagOfBytes = (count: number) =>
    replacePart(sealed, 4, (tag) => Buffer.from(tag, 'base64url').subarray(0, count).toString('base64url'))
  const wrong = [
    // Node opens with a tag of four bytes unless told the length.
    ...[4, 8, 12, 15].map(tagOfBytes),
    ...[1, 2, 3, 4].map((part) => replacePart(sealed, part, () => '')),
    ...[2, 3, 4].map((part) => replacePart(sealed, part, (text) => `${text}=`)),
    ...[2, 3, 4].map((part) => replacePart(sealed, part, (text) => ` ${text}`)),
    sealed.split('.').slice(0, 4).join('.'),
    `${sealed}.more`,
    sealed.replace('v1', 'v2'),
    '',
    secret,
  ]
  for (const text of wrong) t.throws(() => box.open(text, owner), SecretBoxError, text)
})

t.test('a ciphertext under the master key itself, not the derived key, does not open', async (t) => {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', masterKey, iv).setAAD(Buffer.from(owner))
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
  const keyId = box.seal(secret, owner).split('.')[1]
  const parts = [iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'))
  t.throws(() => box.open(['v1', keyId, ...parts].join('.'), owner), SecretBoxError)
})

t.test('sealed text of an earlier release still opens', async (t) => {
  const sealed = 'v1.ab2e5015.rhrwqC1qzSCVAFSq.MjnWJB125g5jcYdyUDg.4Fk7V0JtJNVA43Cbi9eJhQ'
  t.equal(box.open(sealed, owner), secret)
})

t.test('a mac depends on purpose, text and master key, and on nothing else', async (t) => {
  const other = createSecretBox(Buffer.alloc(32, 8))
  t.equal(box.mac('page', 'a'), createSecretBox(masterKey).mac('page', 'a'))
  const all = [box.mac('page', 'a'), box.mac('page', 'b'), box.mac('link', 'a'), other.mac('page', 'a')]
  t.equal(new Set(all).size, all.length)
})

t.test('digests of an earlier release are the same', async (t) => {
  t.equal(box.mac('page', 'a'), 'R_6nhyWajTjQ0qkYu8FpvyzD8T17EyyVRsWkh4egQLA')
})

t.test(
  'a box of several keys seals with the current one, opens what any of them has sealed, and nothing else',
  async (t) => {
    const [old, current] = [Buffer.alloc(32, 8), Buffer.alloc(32, 9)]
    const ring = createSecretBox({ current, others: [masterKey, old] })
    t.equal(keyIdOf(ring.seal(secret, owner)), idOfMasterKey(current))
    for (const key of [masterKey, old, current])
      t.equal(ring.open(createSecretBox(key).seal(secret, owner), owner), secret)
    t.throws(() => ring.open(createSecretBox(Buffer.alloc(32, 10)).seal(secret, owner), owner), SecretBoxError)
    const named = createSecretBox(old).seal(secret, owner).replace(idOfMasterKey(old), idOfMasterKey(current))
    t.throws(() => ring.open(named, owner), SecretBoxError, 'the key that is named, and no other')
  },
)

t.test('resealing changes the key alone, and leaves what has it already', async (t) => {
  const ring = createSecretBox({ current: Buffer.alloc(32, 9), others: [masterKey] })
  const resealed = ring.reseal(box.seal(secret, owner), owner)
  t.equal(createSecretBox(Buffer.alloc(32, 9)).open(resealed, owner), secret)
  t.equal(ring.reseal(resealed, owner), resealed)
  t.throws(() => ring.reseal(box.seal(secret, owner), 'merchant:other:secretKey'), SecretBoxError)
})

t.test('digests stay the same whatever key seals, given the key they began with', async (t) => {
  const later = createSecretBox({ current: Buffer.alloc(32, 9), digestKey: digestKeyOf(masterKey) })
  t.equal(later.mac('user email', 'ada@shop.example'), box.mac('user email', 'ada@shop.example'))
})
