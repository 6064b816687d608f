import { randomBytes } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { decrypt, encrypt } from '../../src/kernel/sodium.js'
import { decryptElsewhere } from '../support/decrypt-elsewhere.js'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

// draft-irtf-cfrg-xchacha-03, A.3.1
const vector = {
  key: hex('808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f'),
  nonce: hex('404142434445464748494a4b4c4d4e4f5051525354555657'),
  associated: hex('50515253c0c1c2c3c4c5c6c7'),
  message: `Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.`,
  ciphertext:
    hex(`bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216
    cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e`),
  tag: hex('c0875924c1c7987947deafd8780acf49'),
}

t.test('decrypts the published vector of XChaCha20-Poly1305', async (t) => {
  const sealed = Buffer.concat([vector.nonce, vector.ciphertext, vector.tag])
  t.equal(decrypt(vector.key, sealed, vector.associated)?.toString(), vector.message)
  t.equal(decryptElsewhere(vector.key, sealed, vector.associated).toString(), vector.message)
})

const bytes = fc.uint8Array({ maxLength: 300 })

t.test('other software decrypts every message', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes, bytes, (key, message, associated) => {
      const sealed = encrypt(key, message, associated)
      t.equal(sealed.length, 24 + message.length + 16)
      t.ok(decrypt(key, sealed, associated)?.equals(message))
      t.ok(decryptElsewhere(key, sealed, associated).equals(message))
    }),
    { numRuns: 50 },
  )
})

t.test('rejects a change of any bit, another key, other associated data and every shorter text', async (t) => {
  const [key, message, associated] = [randomBytes(32), Buffer.from('Ada Lovelace'), Buffer.from('transfer-1')]
  const sealed = encrypt(key, message, associated)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const altered = Buffer.from(sealed)
    altered[bit >> 3]! ^= 1 << (bit & 7)
    if (decrypt(key, altered, associated)) t.fail(`opened with bit ${bit} altered`)
  }
  for (let length = 0; length < sealed.length; length++)
    if (decrypt(key, sealed.subarray(0, length), associated)) t.fail(`opened ${length} bytes`)
  t.equal(decrypt(randomBytes(32), sealed, associated), undefined)
  t.equal(decrypt(key, sealed, Buffer.from('transfer-2')), undefined)
})

t.test('never repeats a nonce, in this thread or another, and outlives terminated threads', async (t) => {
  const module = JSON.stringify(new URL('../../src/kernel/sodium.js', import.meta.url).href)
  const program = `const { parentPort } = require('node:worker_threads')
    import(${module}).then(({ encrypt }) => {
      const key = Buffer.alloc(32, 7)
      parentPort.postMessage(Array.from({ length: 1_000 }, () => encrypt(key, key, key).subarray(0, 24).toString('hex')))
      for (;;) encrypt(key, key, key)
    })`
  const key = Buffer.alloc(32, 7)
  const here = Array.from({ length: 1_000 }, () => encrypt(key, key, key).subarray(0, 24).toString('hex'))
  const there = await Promise.all(
    [1, 2, 3].map(async () => {
      const worker = new Worker(program, { eval: true })
      const nonces = await new Promise<string[]>((resolve, reject) =>
        worker.once('message', resolve).once('error', reject),
      )
      // The thread is encrypting when it ends.
      await worker.terminate()
      return nonces
    }),
  )
  const nonces = [...here, ...there.flat()]
  t.equal(nonces.length, 4_000)
  t.equal(new Set(nonces).size, 4_000)
  t.ok(decrypt(key, encrypt(key, key, key), key)?.equals(key))
})
