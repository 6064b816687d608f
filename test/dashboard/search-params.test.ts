import fc from 'fast-check'
import t from 'tap'
import { pageModule } from './page-module.js'

interface Period {
  readonly from: string
  readonly to: string
}

const { parseSearch, stringifySearch, pickSearch } = await pageModule<{
  parseSearch(search: string): Record<string, string>
  stringifySearch(search: Record<string, unknown>): string
  pickSearch(search: Record<string, unknown>, names: readonly string[]): Record<string, string | undefined>
}>('app/search-params.ts')

t.test('search parameters stay text, so that no reference becomes a number', async (t) => {
  t.strictSame(parseSearch('?text=0012&method=1e5&flag=true&x=null'), {
    text: '0012',
    method: '1e5',
    flag: 'true',
    x: 'null',
  })
  const search = fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), { noNullPrototype: true })
  fc.assert(
    fc.property(search, (values) => {
      const read = parseSearch(stringifySearch(values))
      return JSON.stringify(Object.entries(read).sort()) === JSON.stringify(Object.entries(values).sort())
    }),
  )
  t.equal(stringifySearch({ text: '', status: undefined, merchantId: null }), '', 'empty values are omitted')
})

t.test('a page picks only the parameters it knows, and only text', async (t) => {
  t.strictSame(
    pickSearch({ status: 'Pending', text: '', merchantId: 5, other: 'x' }, ['status', 'text', 'merchantId']),
    {
      status: 'Pending',
    },
  )
})

t.test('days are in the zone of the viewer, even when the clocks change', async (t) => {
  const zoneBefore = process.env.TZ
  t.teardown(() => {
    process.env.TZ = zoneBefore ?? 'UTC'
  })
  for (const zone of ['Europe/Istanbul', 'America/New_York', 'Pacific/Apia', 'Asia/Kathmandu']) {
    process.env.TZ = zone
    const { dayOf, startOf, lastDays } = await pageModule<{
      dayOf(time: Date): string
      startOf(day: string, offsetDays?: number): string | undefined
      lastDays(days: number, endsBefore?: number): Period
    }>('components/local-days.ts')
    const wrong: string[] = []
    for (let month = 1; month <= 12; month++) {
      for (let date = 1; date <= 28; date++) {
        const day = `2026-${String(month).padStart(2, '0')}-${String(date).padStart(2, '0')}`
        const start = startOf(day)!
        const endOfPrevious = dayOf(new Date(Date.parse(start) - 1))
        if (dayOf(new Date(start)) !== day || endOfPrevious !== dayOf(new Date(startOf(day, -1)!))) wrong.push(day)
      }
    }
    t.strictSame(wrong, [], 'each day starts where the previous one ends')
    const week = lastDays(7)
    const today = lastDays(1)
    t.equal(dayOf(new Date(today.from)), dayOf(new Date()))
    t.equal(week.to, today.to)
    t.equal(startOf(dayOf(new Date(week.from)), 6), today.from)
    t.equal(lastDays(1, 1).to, today.from, 'yesterday ends where today starts')
  }
  const { startOf } = await pageModule<{ startOf(day: string): string | undefined }>('components/local-days.ts')
  for (const text of ['', 'x', '2026', '0026-01-01']) t.equal(startOf(text), undefined, text)
})
