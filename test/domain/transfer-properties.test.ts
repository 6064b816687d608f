import fc from 'fast-check'
import t from 'tap'
import type { TransferCommand } from '../../src/domain/transfer/commands.js'
import { transferDecider } from '../../src/domain/transfer/decide.js'
import type { TransferEvent } from '../../src/domain/transfer/events.js'
import { isTerminal, type TransferState } from '../../src/domain/transfer/transfer.js'
import { decodeEvent, encodeEvent } from '../../src/event-store/event-codec.js'
import { complete, createDeposit, createWithdrawal } from './transfer-samples.js'

const at = fc
  .date({ min: new Date('2026-03-01T10:00:00Z'), max: new Date('2026-03-01T12:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString())
const message = fc.option(fc.string({ maxLength: 20 }))
const command: fc.Arbitrary<TransferCommand> = fc.oneof(
  fc.constant(createDeposit),
  fc.constant(createWithdrawal),
  fc.record({ at, type: fc.constantFrom('SendToManualControl', 'Cancel', 'Fail'), message }),
  fc.record({ at, type: fc.constant('Expire' as const) }),
  fc
    .record({
      at,
      message,
      amount: fc.bigInt(9_990n, 10_010n),
      toleranceMinor: fc.bigInt(0n, 5n),
      autoCancel: fc.boolean(),
    })
    .map(({ at, message, amount: transactionAmountMinor, ...mismatchPolicy }) => ({
      ...complete,
      at,
      message,
      transactionAmountMinor,
      mismatchPolicy,
    })),
) as fc.Arbitrary<TransferCommand>
const commands = fc.tuple(fc.constantFrom(createDeposit, createWithdrawal), fc.array(command, { maxLength: 30 }))

function play(
  [first, rest]: [TransferCommand, TransferCommand[]],
  each: (state: TransferState, events: readonly TransferEvent[]) => void,
) {
  let state = transferDecider.initialState
  const history: TransferEvent[] = []
  for (const next of [first, ...rest]) {
    const decision = transferDecider.decide(next, state)
    const events = decision.accepted ? decision.events : []
    const before = state
    for (const event of events) state = transferDecider.evolve(state, event)
    history.push(...events)
    each(before, events)
  }
  return { state, history }
}

t.test('a terminal transfer never changes again, whatever is asked of it', async () => {
  fc.assert(
    fc.property(commands, (asked) => {
      play(asked, (before, events) => {
        if (before.kind !== 'none' && isTerminal(before.status) && events.length > 0) throw new Error('changed')
      })
    }),
    { numRuns: 500 },
  )
})

t.test('one creation, at most one terminal event, and no event that changes no status', async (t) => {
  const terminal = new Set(['TransferCompleted', 'TransferCancelled', 'TransferFailed'])
  fc.assert(
    fc.property(commands, (asked) => {
      const types = play(asked, () => {}).history.map((event) => event.type)
      t.equal(types.filter((type) => type.endsWith('Created')).length, 1)
      t.ok(types.filter((type) => terminal.has(type)).length <= 1)
      t.ok(types.length <= 3, 'created, under manual control, terminal')
    }),
    { numRuns: 500 },
  )
})

t.test('a command repeated at once decides nothing more', async (t) => {
  fc.assert(
    fc.property(commands, command, (asked, next) => {
      const { state } = play(asked, () => {})
      const decision = transferDecider.decide(next, state)
      if (!decision.accepted) return
      const after = decision.events.reduce(transferDecider.evolve, state)
      t.strictSame(transferDecider.decide(next, after), { accepted: true, events: [] })
    }),
    { numRuns: 500 },
  )
})

t.test('what is decided, stored and read folds to the same state', async (t) => {
  const metadata = { actor: 'system:test', $correlationId: 'c', $causationId: 'c' }
  fc.assert(
    fc.property(commands, (asked) => {
      const { state, history } = play(asked, () => {})
      const stored = history.map((event, revision) => {
        const encoded = JSON.parse(JSON.stringify(encodeEvent(event, metadata)))
        return { ...encoded, stream: 'transfer-x', revision, position: { commit: 0n, prepare: 0n }, recordedAtMs: 0 }
      })
      const read = stored.map((recorded) => decodeEvent(recorded) as TransferEvent)
      t.strictSame(read, history)
      t.strictSame(read.reduce(transferDecider.evolve, transferDecider.initialState), state)
    }),
    { numRuns: 200 },
  )
})
