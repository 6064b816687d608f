import { randomBytes, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { KeptKey, KeyStore } from '../../src/privacy/customer-keys.js'

interface KeyStoreContract {
  readonly name: string
  /** Opens the same keys again, like another thread, process or node. */
  readonly open: (t: Test) => Promise<() => KeyStore>
}

function newKey(owner: string, merchantId: string): KeptKey {
  return { id: randomBytes(16).toString('base64url'), merchantId, owner, sealed: randomUUID() }
}

const byId = (keys: readonly KeptKey[]) => [...keys].sort((a, b) => (a.id < b.id ? -1 : 1))

/** Tests the rules of every store for the keys of customers. */
export function keyStoreContract(t: Test, { name, open }: KeyStoreContract): void {
  const test = (title: string, body: (t: Test, store: KeyStore, another: KeyStore) => Promise<void>) =>
    t.test(`${name}: ${title}`, async (t) => {
      const openOne = await open(t)
      const [store, another] = [openOne(), openOne()]
      try {
        await body(t, store, another)
      } finally {
        await store.close()
        await another.close()
      }
    })

  test('keeps one checkpoint next to its keys, which is none of them', async (t, store, another) => {
    t.equal(await store.keptCheckpoint(), undefined)
    const key = newKey('ada', 'm')
    await store.ensure([key])
    for (const text of ['first', 'second']) await store.keepCheckpoint(text)
    t.equal(await another.keptCheckpoint(), 'second')
    t.strictSame(await another.after('', 10), [key])
    t.strictSame(await store.counts(['m']), new Map([['m', 1]]))
    await store.destroy([key.id])
    t.equal(await another.keptCheckpoint(), 'second')
  })

  test('an empty store has no keys, and accepts every operation on missing ones', async (t, store) => {
    t.strictSame(await store.byIds(['none']), [])
    t.equal(await store.byOwner('unknown'), undefined)
    t.strictSame(await store.after('', 10), [])
    t.strictSame(await store.counts(['m']), new Map())
    await store.replace([newKey('ada', 'm')])
    await store.destroy(['none'])
    await store.compact()
    t.strictSame(await store.after('', 10), [])
  })

  test('finds a stored key by its id and its owner, also through another connection', async (t, store, another) => {
    const [ada, grace] = [newKey('ada', 'm'), newKey('grace', 'n')]
    t.strictSame(await store.ensure([ada, grace]), [ada, grace])
    for (const each of [store, another]) {
      t.strictSame(byId(await each.byIds([ada.id, grace.id, 'none'])), byId([ada, grace]))
      t.strictSame(await each.byOwner('grace'), grace)
      t.equal(await each.byOwner('unknown'), undefined)
    }
  })

  test('returns the existing key of an owner, and stores the other keys of the list', async (t, store, another) => {
    const first = newKey('ada', 'm')
    await store.ensure([first])
    const [later, grace] = [newKey('ada', 'm'), newKey('grace', 'm')]
    t.strictSame(await another.ensure([later, grace]), [first, grace])
    t.strictSame(await another.ensure([later]), [first])
    t.strictSame(await store.byIds([later.id]), [])
    t.strictSame(await store.byOwner('grace'), grace)
    t.strictSame(await store.ensure([first, grace]), [first, grace], 'a repeat changes nothing')
  })

  test('returns the same key to concurrent calls for one owner', async (t, store, another) => {
    const owners = Array.from({ length: 20 }, (_, n) => `owner-${n}`)
    const results = await Promise.all(
      [store, another, store, another].map((each) => each.ensure(owners.map((owner) => newKey(owner, 'm')))),
    )
    for (const result of results) t.strictSame(result, results[0])
    t.strictSame(await store.after('', 100), byId(results[0]!))
  })

  test('pages by id return every key once', async (t, store) => {
    const keys = Array.from({ length: 25 }, (_, n) => newKey(`owner-${n}`, 'm'))
    await store.ensure(keys)
    const seen: KeptKey[] = []
    for (let page = await store.after('', 7); page.length > 0; page = await store.after(page.at(-1)!.id, 7)) {
      t.ok(page.length <= 7)
      seen.push(...page)
    }
    t.strictSame(seen, byId(keys))
  })

  test('counts customers by merchant and omits merchants without any', async (t, store) => {
    await store.ensure([newKey('a', 'm'), newKey('b', 'm'), newKey('c', 'n'), newKey('d', 'o')])
    const counts = await store.counts(['m', 'n', 'none'])
    t.strictSame([counts.get('m'), counts.get('n'), counts.get('none')], [2, 1, undefined])
  })

  test('replaces a key and its owner by id, and creates no missing key', async (t, store, another) => {
    const [ada, grace] = [newKey('ada', 'm'), newKey('grace', 'm')]
    await store.ensure([ada, grace])
    const resealed = { ...ada, sealed: randomUUID() }
    const moved = { ...grace, owner: 'grace under another key', sealed: randomUUID() }
    await store.replace([resealed, moved, newKey('unknown', 'm')])
    t.strictSame(await another.after('', 10), byId([resealed, moved]))
    t.strictSame(await another.byOwner('ada'), resealed)
    t.strictSame(await another.byOwner(moved.owner), moved)
    t.equal(await another.byOwner('grace'), undefined)
    await store.replace([resealed, moved])
    t.strictSame(await store.after('', 10), byId([resealed, moved]), 'a repeat changes nothing')
  })

  test('removes a destroyed key everywhere, and allows a new one for its owner', async (t, store, another) => {
    const [ada, grace] = [newKey('ada', 'm'), newKey('grace', 'm')]
    await store.ensure([ada, grace])
    t.strictSame(await another.byOwner('ada'), ada)
    await store.destroy([ada.id, 'none'])
    await store.compact()
    for (const each of [store, another]) {
      t.strictSame(await each.after('', 10), [grace])
      t.strictSame(await each.byIds([ada.id]), [])
      t.equal(await each.byOwner('ada'), undefined)
    }
    await store.replace([ada])
    t.strictSame(await store.byIds([ada.id]), [], 'replacing a destroyed key does not restore it')
    await store.destroy([ada.id])
    const again = newKey('ada', 'm')
    t.strictSame(await another.ensure([again]), [again])
  })

  test('stored and destroyed keys persist after all connections are closed', async (t, store, another) => {
    const [ada, grace] = [newKey('ada', 'm'), newKey('grace', 'm')]
    await store.ensure([ada, grace])
    await store.destroy([grace.id])
    await store.close()
    t.strictSame(await another.after('', 10), [ada])
  })
}
