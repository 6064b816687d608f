import { createHash } from 'node:crypto'
import t from 'tap'
import {
  digestApiKey,
  findByApiKey,
  generateApiKey,
  generateSecretKey,
  generateWebhookSecret,
  merchantIdOfApiKey,
} from '../../src/security/api-keys.js'

const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'

t.test('an API key contains its merchant and 256 random bits', async (t) => {
  const [first, second] = [generateApiKey(merchantId), generateApiKey(merchantId)]
  t.match(first, /^tk_6f6a5c0e52a14f0e9d2b0f0f5d3c1a11_[A-Za-z0-9_-]{43}$/)
  t.not(first, second)
  t.equal(merchantIdOfApiKey(first), merchantId)
})

t.test('returns no merchant for text without the form of a key', async (t) => {
  const key = generateApiKey(merchantId)
  const wrong = ['', 'tk_', key.slice(1), key.slice(0, -1), `${key}A`, `${key}\n`, key.toUpperCase(), ` ${key}`]
  wrong.push(key.replace('tk_', 'sk_'), key.replace('6f6a', '6f6g'), '__proto__', merchantId)
  for (const text of wrong) t.equal(merchantIdOfApiKey(text), undefined, JSON.stringify(text))
})

t.test('a digest is hexadecimal SHA-256 and matches only its key', async (t) => {
  const key = generateApiKey(merchantId)
  const digest = digestApiKey(key)
  t.equal(digest, createHash('sha256').update(key, 'utf8').digest('hex'))
  const own = { sha256: digest }
  const other = { sha256: digestApiKey(generateApiKey(merchantId)) }
  for (const keys of [[own], [other, own], [own, other], [other, own, other]]) t.equal(findByApiKey(key, keys), own)
  for (const keys of [[other], []]) t.equal(findByApiKey(key, keys), undefined)
  t.equal(findByApiKey(digest, [own]), undefined, 'the digest is not the key')
})

t.test('secrets have 256 random bits and a prefix for their kind', async (t) => {
  t.match(generateSecretKey(), /^sk_[A-Za-z0-9_-]{43}$/)
  const webhookSecret = generateWebhookSecret()
  t.equal(Buffer.from(webhookSecret.replace(/^whsec_/, ''), 'base64').length, 32)
  t.match(webhookSecret, /^whsec_/)
  t.not(generateSecretKey(), generateSecretKey())
  t.not(generateWebhookSecret(), generateWebhookSecret())
})
