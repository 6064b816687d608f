import { randomUUID } from 'node:crypto'
import t from 'tap'
import { TransferChanges } from '../../src/callbacks/callback-memory.js'
import type { Transfer } from '../../src/domain/transfer/transfer.js'
import { estimatedBytes } from '../../src/kernel/memory-size.js'
import { documentOf } from '../../src/read-models/transfer-document.js'
import { cancelled, common, completed, largestMetadata } from '../domain/transfer-samples.js'
import { heldBytes } from '../support/heap.js'
import { recorded, recordedCreation } from '../support/recorded-creation.js'

/** The changes of a deposit after its creation and, if `ended`, its completion. */
function changesOf(n: number, metadata: { readonly [key: string]: string } | null, ended: boolean): TransferChanges {
  const creation = recordedCreation(n, metadata)
  const changes = new TransferChanges()
  changes.add(creation)
  if (!ended) return changes
  const { trackingId } = creation.data as { readonly trackingId: string }
  const sample = n % 2 === 0 ? completed('deposit') : cancelled('deposit')
  changes.add(recorded(n + 1, { ...sample, data: { ...sample.data, ...common('deposit'), trackingId } } as never, 1))
  return changes
}

function transferIn({ all }: TransferChanges): Transfer {
  return all.at(-1)!.transfer
}

const metadataKinds: { readonly [kind: string]: (n: number) => { readonly [key: string]: string } | null } = {
  no: () => null,
  'one text of': (n) => ({ order: `${n}` }),
  Latin: (n) => Object.fromEntries(Array.from({ length: 20 }, (_, key) => [`key ${key}`, `${n} ${'x'.repeat(190)}`])),
  'unique keys of': (n) =>
    Object.fromEntries(
      Array.from({ length: 20 }, (_, key) => [`${n} ${key} ${randomUUID()}`, `${n} ${'x'.repeat(190)}`]),
    ),
  'only unique keys in': (n) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, key) => [`${key} ${randomUUID()}`.padEnd(40, `${n}`), ''])),
  'the most': largestMetadata,
}

const values: {
  readonly [what: string]: {
    make(n: number, metadata: { readonly [key: string]: string } | null): object
    bytesOf(value: never): number
  }
} = {
  'a state': { make: (n, metadata) => transferIn(changesOf(n, metadata, false)), bytesOf: estimatedBytes },
  'a document': {
    make: (n, metadata) => documentOf(transferIn(changesOf(n, metadata, false)), n, 0),
    bytesOf: estimatedBytes,
  },
  'a recorded event': { make: recordedCreation, bytesOf: estimatedBytes },
  'a transfer with one change': {
    make: (n, metadata) => changesOf(n, metadata, false),
    bytesOf: ({ bytes }: TransferChanges) => bytes,
  },
  'a transfer with two changes': {
    make: (n, metadata) => changesOf(n, metadata, true),
    bytesOf: ({ bytes }: TransferChanges) => bytes,
  },
}

/** Large compared with other memory that the process allocates or releases in the meantime. */
const measuredBytes = 6_000_000

/** Separate from the loop, so that nothing of an earlier measurement is in use. */
async function measure(make: (n: number) => object, bytesOf: (value: never) => number) {
  const count = Math.ceil(measuredBytes / bytesOf(make(0) as never))
  let estimated = 0
  const bytes = await heldBytes(() => {
    const held = Array.from({ length: count }, (_, n) => make(n))
    for (const value of held) estimated += bytesOf(value as never)
    return held
  })
  return { estimated, bytes }
}

for (const [what, { make, bytesOf }] of Object.entries(values)) {
  t.test(`estimates the memory of ${what} at 0.4 to 2.5 times its size`, async (t) => {
    for (const [kind, metadataOf] of Object.entries(metadataKinds)) {
      const { estimated, bytes } = await measure((n) => make(n, metadataOf(n)), bytesOf)
      const ratio = estimated / bytes
      // 0.96 to 2.06 in a process that does nothing else.
      t.ok(ratio > 0.4 && ratio < 2.5, `${kind} metadata: ${estimated} estimated of ${bytes}, ${ratio.toFixed(2)}`)
    }
  })
}
