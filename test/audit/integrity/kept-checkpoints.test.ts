import { emptyRoot, formatCheckpoint, generateSigner, parseSigner, signNote } from '@transferd/transparency-log'
import t from 'tap'
import { type CheckpointStore, KeptCheckpoints } from '../../../src/audit/integrity/kept-checkpoints.js'

const [signer, earlier] = ['log', 'log'].map((name) => parseSigner(generateSigner(name)))
const noteOf = (size: number, by = signer!) =>
  signNote(formatCheckpoint({ origin: 'log', size, root: emptyRoot() }), [by])
const tree = { earlierKeyIds: [earlier!.keyId] }
const macOf = (text: string) => `mac of ${text}`

/** Returns a store and its content. */
function storeOf(name: string, isLocal?: true) {
  const memory = { text: undefined as string | undefined, failure: undefined as Error | undefined }
  const access = async <Result>(work: () => Result): Promise<Result> => {
    if (memory.failure) throw memory.failure
    return work()
  }
  const store: CheckpointStore = {
    ...{ name, ...(isLocal && { isLocal }) },
    read: () => access(() => memory.text),
    write: (text) =>
      access(() => {
        memory.text = text
      }),
  }
  return { store, memory }
}

t.test('a store that another one has seen newer is a finding, until it is written again', async (t) => {
  const [lists, keys] = [storeOf('the read models'), storeOf("the customers' keys")]
  const stores = [lists.store, keys.store]
  const running = new KeptCheckpoints(stores, macOf)
  t.same(await running.read(tree), { kept: [], findings: [], problems: [] })
  await running.write(noteOf(10))
  const early = lists.memory.text
  await running.write(noteOf(20))
  await running.write(noteOf(30))
  t.match(await new KeptCheckpoints(stores, macOf).read(tree), { kept: [{}, {}], findings: [] })
  lists.memory.text = early
  const restarted = new KeptCheckpoints(stores, macOf)
  t.match((await restarted.read(tree)).findings, [
    {
      kind: 'checkpoint',
      place: 'the read models',
      problem: /fewer events than the 20 that the customers' keys saw there/,
    },
  ])
  t.same((await new KeptCheckpoints(stores, (text) => `another ${text}`).read(tree)).findings, [], 'only if authentic')
  await restarted.write(noteOf(30))
  t.same((await restarted.read(tree)).findings, [])
})

t.test('a crash between two stores, an unavailable store and a lost store cause no finding', async (t) => {
  const [lists, keys] = [storeOf('the read models'), storeOf("the customers' keys")]
  const running = new KeptCheckpoints([lists.store, keys.store], macOf)
  await running.write(noteOf(10))
  keys.memory.failure = new Error('no connection')
  t.match(await running.write(noteOf(20)), [/The checkpoint was not kept in the customers' keys: no connection/])
  t.match(await running.write(noteOf(30)), [/not kept/])
  t.match(await running.read(tree), { kept: [{ name: 'the read models' }], findings: [], problems: [/cannot be read/] })
  keys.memory.failure = undefined
  t.match(await running.read(tree), { kept: [{}, {}], findings: [], problems: [] })
  keys.memory.text = undefined
  t.match(await running.read(tree), { kept: [{ name: 'the read models' }], findings: [] })
})

t.test('a store of one node says nothing about the age of the others', async (t) => {
  const [lists, local] = [storeOf('the read models'), storeOf('the security log', true)]
  const onNode = new KeptCheckpoints([lists.store, local.store], macOf)
  await onNode.write(noteOf(10))
  await onNode.write(noteOf(20))
  const other = storeOf('the security log', true)
  await other.store.write(String(local.memory.text).replaceAll('20', '10'))
  t.match((await new KeptCheckpoints([lists.store, other.store], macOf).read(tree)).findings, [])
})

t.test(
  'checkpoints of earlier trees of the log are omitted, those of other trees and other texts are not',
  async (t) => {
    const { store, memory } = storeOf('the read models')
    const read = () => new KeptCheckpoints([store], macOf).read(tree)
    for (const [text, count] of [
      [noteOf(10, earlier), 0],
      [noteOf(10, parseSigner(generateSigner('log'))), 1],
      [noteOf(10), 1],
      ['nonsense', 1],
      ['{"note":1}', 1],
      ['', 1],
    ] as const) {
      memory.text = text
      t.equal((await read()).kept.length, count, text)
    }
  },
)
