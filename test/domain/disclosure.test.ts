import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { disclosables } from '../../src/domain/disclosable.js'
import { type EvidenceCommand, evidenceDecider, isInForce } from '../../src/domain/disclosure.js'
import { dayMs } from '../../src/kernel/time.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(evidenceDecider)
type History = Parameters<typeof fold>[0]
const trackingId = '7b0f2c1e-0000-5000-8000-000000000001'
const at = '2026-11-22T10:00:00.000Z'
const later = '2026-11-22T11:00:00.000Z'
const after = (from: string, ms: number) => new Date(Date.parse(from) + ms).toISOString()

const asked = {
  ...{ trackingId, requestId: 'request-1', by: 'user:auditor', reason: 'audit of November', at },
  disclose: [...disclosables.slice(0, 2)],
}
const request = { type: 'Request', ...asked } as const
const requested = { type: 'DisclosureRequested', data: asked } as const
const decision = { trackingId, requestId: 'request-1', by: 'user:ada', at: later }
const approve = { type: 'Approve', ...decision } as const
const approved = { type: 'DisclosureApproved', data: decision } as const
const reject = { type: 'Reject', ...decision } as const
const rejected = { type: 'DisclosureRejected', data: decision } as const
const made = { trackingId, by: 'user:auditor', sha256: 'a'.repeat(64), events: 9, treeSize: 12, at: later }
const plain = { type: 'RecordPackage', ...made, requestId: null } as const
const disclosing = { type: 'RecordPackage', ...made, requestId: 'request-1' } as const
const createdWith = (requestId: string | null) => ({ ...made, requestId })

/** Returns the rule that rejects a command, or `undefined` if it is accepted. */
function ruleOf(command: EvidenceCommand, ...history: History) {
  const decided = evidenceDecider.decide(command, fold(history))
  return decided.accepted ? undefined : decided.refusal.rule
}

t.test('a request is recorded once, and a different one replaces it', async (t) => {
  given().when(request).then([requested])
  given(requested)
    .when({ ...request, requestId: 'request-2', at: later })
    .then([], 'a repeat changes nothing')
  for (const change of [{ reason: 'court order' }, { by: 'user:ada' }, { disclose: [...disclosables] }]) {
    const next = { ...asked, ...change, requestId: 'request-2', at: later }
    given(requested)
      .when({ type: 'Request', ...next })
      .then([{ type: 'DisclosureRequested', data: next }])
    const replaced: History = [requested, { type: 'DisclosureRequested', data: next }]
    t.match(fold(replaced).disclosure, { requestId: 'request-2', state: 'open', requestedAt: later, decidedBy: null })
    const third = 'user:grace'
    t.equal(ruleOf({ ...approve, by: third }, ...replaced), 'unknown-disclosure', 'the first cannot be approved')
    t.equal(ruleOf({ ...approve, by: third, requestId: 'request-2' }, ...replaced), undefined)
  }
  const again = { ...asked, requestId: 'request-2' }
  for (const decided of [approved, rejected])
    given(requested, decided)
      .when({ type: 'Request', ...again })
      .then([{ type: 'DisclosureRequested', data: again }], 'the same text after a decision is a new request')
  t.equal(
    ruleOf(disclosing, requested, approved, { type: 'DisclosureRequested', data: again }),
    'disclosure-not-approved',
    'a new request ends the approval of the previous one',
  )
})

t.test('another person approves, and the decision is final', async (t) => {
  given(requested).when(approve).then([approved])
  given(requested, approved)
    .when({ ...approve, at: after(later, 1) })
    .then([], 'a repeat changes nothing')
  t.match(fold([requested, approved]).disclosure, { state: 'approved', decidedBy: 'user:ada', decidedAt: later })
  given(requested)
    .when({ ...approve, by: 'user:auditor' })
    .then('conflict')
  t.equal(ruleOf({ ...approve, by: 'user:auditor' }, requested), 'disclosure-four-eyes')
  for (const [command, history] of [
    [approve, []],
    [reject, []],
    [{ ...approve, requestId: 'request-2' }, [requested]],
    [{ ...reject, requestId: 'request-2' }, [requested]],
  ] satisfies [EvidenceCommand, History][]) {
    given(...history)
      .when(command)
      .then('not-found')
    t.equal(ruleOf(command, ...history), 'unknown-disclosure')
  }
  for (const [command, decided] of [
    [reject, approved],
    [approve, rejected],
    [{ ...approve, by: 'user:grace' }, approved],
    [{ ...reject, by: 'user:grace' }, rejected],
    [{ ...reject, by: 'user:auditor' }, approved],
  ] as const) {
    given(requested, decided).when(command).then('conflict')
    t.equal(ruleOf(command, requested, decided), 'disclosure-decided')
  }
})

t.test('anyone rejects a request, also the person who made it', async (t) => {
  given(requested).when(reject).then([rejected])
  given(requested, rejected).when(reject).then([], 'a repeat changes nothing')
  const own = { ...decision, by: 'user:auditor' }
  given(requested)
    .when({ type: 'Reject', ...own })
    .then([{ type: 'DisclosureRejected', data: own }])
  t.match(fold([requested, rejected]).disclosure, { state: 'rejected', decidedBy: 'user:ada', decidedAt: later })
})

t.test('a package discloses only while its request is in force', async (t) => {
  const recorded = (requestId: string | null) =>
    [{ type: 'EvidencePackageCreated', data: createdWith(requestId) }] as const
  for (const history of [[], [requested], [requested, approved], [requested, rejected]] satisfies History[])
    given(...history)
      .when(plain)
      .then(recorded(null), 'a package that discloses nothing needs no approval')
  given(requested, approved).when(disclosing).then(recorded('request-1'))
  const [created] = recorded('request-1')
  given(requested, approved, created).when(disclosing).then(recorded('request-1'), 'each package is recorded')
  for (const history of [[], [requested], [requested, rejected]] satisfies History[]) {
    given(...history)
      .when(disclosing)
      .then('conflict')
    t.equal(ruleOf(disclosing, ...history), 'disclosure-not-approved')
  }
  t.equal(ruleOf({ ...disclosing, requestId: 'request-2' }, requested, approved), 'disclosure-not-approved')
})

t.test('an approval ends after 7 days', async (t) => {
  const { disclosure } = fold([requested, approved])
  for (const [ms, holds] of [
    [0, true],
    [7 * dayMs, true],
    [7 * dayMs + 1, false],
  ] as const) {
    const now = after(later, ms)
    t.equal(isInForce(disclosure!, now), holds, `${ms} ms`)
    t.equal(ruleOf({ ...disclosing, at: now }, requested, approved), holds ? undefined : 'disclosure-not-approved')
  }
  t.equal(isInForce(fold([requested]).disclosure!, later), false)
  t.equal(isInForce(fold([requested, rejected]).disclosure!, later), false)
})

t.test('no commands of one person lead to a package that discloses', async () => {
  const by = 'user:ada'
  const requestId = fc.constantFrom('request-1', 'request-2')
  const time = fc.integer({ min: 0, max: 30 * dayMs }).map((ms) => after(at, ms))
  const common = { trackingId: fc.constant(trackingId), by: fc.constant(by), at: time }
  const command: fc.Arbitrary<EvidenceCommand> = fc.oneof(
    fc.record({
      ...{ ...common, type: fc.constant('Request' as const), requestId, reason: fc.constantFrom('a', 'b') },
      disclose: fc.subarray([...disclosables], { minLength: 1 }),
    }),
    fc.record({ ...common, type: fc.constantFrom('Approve' as const, 'Reject' as const), requestId }),
    fc
      .record({ ...common, type: fc.constant('RecordPackage' as const), requestId, sha256: fc.constant('a') })
      .map((recorded) => ({ ...recorded, events: 1, treeSize: 1 })),
  )
  fc.assert(
    fc.property(fc.array(command, { maxLength: 30 }), (commands) => {
      let state = evidenceDecider.initialState
      for (const each of commands) {
        const decided = evidenceDecider.decide(each, state)
        const events = decided.accepted ? decided.events : []
        equal(events.filter(({ type }) => type === 'EvidencePackageCreated').length, 0)
        state = events.reduce(evidenceDecider.evolve, state)
      }
    }),
  )
})
