import t from 'tap'
import { uuidV5 } from '../../src/kernel/uuid.js'

t.test('UUIDv5 is that of RFC 9562, whatever the name holds', async (t) => {
  const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
  t.equal(uuidV5('www.example.com', dns), '2ed6657d-e927-568b-95e1-2665a8aea6a2')
  t.equal(uuidV5('', dns), '4ebd0208-8328-5d69-8c44-ec50939c0967')
  t.equal(uuidV5('zoë 💶', dns), '8a063ae4-9ded-5628-99bf-107d83bafde4')
})

t.test('a namespace that is no UUID is refused', async (t) => {
  t.throws(() => uuidV5('name', 'merchant-1'), TypeError)
})
