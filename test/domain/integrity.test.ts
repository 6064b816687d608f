import t from 'tap'
import { type Finding, integrityDecider, maxFindings } from '../../src/domain/integrity.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(integrityDecider)
const at = '2026-11-22T10:00:00.000Z'
const later = '2026-11-22T11:00:00.000Z'

const finding = (place: string): Finding => ({
  kind: 'log',
  place,
  leafIndex: 3,
  problem: 'The event is not the one that was sealed.',
})
const report = (place: string) => ({ type: 'Report', finding: finding(place), treeSize: 9, at }) as const
const violated = (place: string) =>
  ({ type: 'IntegrityViolated', data: { ...finding(place), treeSize: 9, at } }) as const
const resume = { type: 'Resume', reason: 'reviewed', at: later } as const
const resumed = { type: 'PayoutsResumed', data: { reason: 'reviewed', at: later } } as const

t.test('records each finding once, and the first one stops payouts', async (t) => {
  given()
    .when(report('a@1'))
    .then([violated('a@1')])
  given(violated('a@1')).when(report('a@1')).then([])
  given(violated('a@1'))
    .when(report('b@2'))
    .then([violated('b@2')])
  t.equal(fold([violated('a@1'), { ...violated('b@2') }]).stoppedSince, at)
})

t.test('payouts continue after an administrator resumes them, until the next finding', async (t) => {
  given(violated('a@1')).when(resume).then([resumed])
  given().when(resume).then([])
  given(violated('a@1'), resumed).when(resume).then([])
  t.equal(fold([violated('a@1'), resumed]).stoppedSince, null)
  given(violated('a@1'), resumed)
    .when(report('a@1'))
    .then([], 'a finding from before the resumption does not stop payouts again')
  given(violated('a@1'), resumed)
    .when(report('b@2'))
    .then([violated('b@2')])
})

t.test('an operator stops payouts until they are resumed', async (t) => {
  const stop = { type: 'Stop', reason: 'the bank is closed', at } as const
  const stopped = { type: 'PayoutsStopped', data: { reason: 'the bank is closed', at } } as const
  given().when(stop).then([stopped])
  given(stopped).when(stop).then([])
  given(violated('a@1')).when(stop).then([stopped])
  given(stopped).when(resume).then([resumed])
  t.equal(fold([stopped]).stoppedSince, at)
  t.match(fold([stopped, resumed]), { stoppedSince: null, stop: null })
})

t.test('a restored log stops payouts until they are resumed', async (t) => {
  const restore = {
    ...{ backupCreatedAt: '2026-11-22T03:00:00.000Z', restoredAt: '2026-11-22T09:00:00.000Z' },
    ...{ events: 51_000, lastEventAt: '2026-11-22T02:59:00.000Z', lostEvents: 420 },
  }
  const record = { type: 'RecordRestore', restore, at } as const
  const restored = { type: 'LogRestored', data: { ...restore, at } } as const
  given().when(record).then([restored])
  given(restored).when(resume).then([resumed])
  given(violated('a@1')).when(record).then([restored])
  given(restored, resumed).when(record).then([restored], 'a second restore stops payouts again')
  t.match(fold([restored]), { stoppedSince: at, restored: { ...restore, at } })
  t.match(fold([restored, resumed]), { stoppedSince: null, restored: null })
})

t.test('bounds the number of recorded findings', async () => {
  const many = Array.from({ length: maxFindings }, (_, index) => violated(`a@${index}`))
  given(...many)
    .when(report('b@1'))
    .then([])
  given(...many, resumed)
    .when(report('b@1'))
    .then([violated('b@1')])
})
