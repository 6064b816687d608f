import t from 'tap'
import { uuidV5 } from '../../src/commands/ids.js'

t.test('computes UUIDv5 as RFC 9562 specifies, for any name', async (t) => {
  const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
  t.equal(uuidV5('www.example.com', dns), '2ed6657d-e927-568b-95e1-2665a8aea6a2')
  t.equal(uuidV5('', dns), '4ebd0208-8328-5d69-8c44-ec50939c0967')
  t.equal(uuidV5('zoë 💶', dns), '8a063ae4-9ded-5628-99bf-107d83bafde4')
})

t.test('rejects a namespace that is not a UUID', async (t) => {
  t.throws(() => uuidV5('name', 'merchant-1'), TypeError)
})
