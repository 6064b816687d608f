import fc from 'fast-check'
import t from 'tap'
import { addDays, isTargetDay, targetDate, targetDayFrom } from '../../src/domain/target-days.js'

t.test('knows the days on which TARGET is closed', async (t) => {
  for (const date of [
    // A Saturday and a Sunday.
    ...['2026-11-28', '2026-11-29'],
    ...['2027-01-01', '2026-05-01', '2025-12-25', '2025-12-26'],
    // Good Friday and Easter Monday.
    ...['2026-04-03', '2026-04-06', '2027-03-26', '2027-03-29', '2028-04-14', '2028-04-17', '2100-03-26', '2100-03-29'],
  ])
    t.equal(isTargetDay(date), false, date)
  for (const date of ['2026-11-27', '2026-12-24', '2026-12-31', '2026-04-02', '2026-04-07', '2026-05-14', '2026-05-25'])
    t.equal(isTargetDay(date), true, date)
})

// The earliest and the latest Easter, and years in which simpler algorithms are a week off.
t.test('knows the Fridays and Mondays around Easter of any year', async (t) => {
  for (const easter of [
    ...['1818-03-22', '1943-04-25', '1954-04-18', '1981-04-19', '2000-04-23', '2008-03-23', '2019-04-21', '2024-03-31'],
    ...['2025-04-20', '2038-04-25', '2049-04-18', '2076-04-19', '2285-03-22', '4200-04-20'],
  ]) {
    t.strictSame(
      [-6, -3, -2, 1, 2, 3].map((days) => isTargetDay(addDays(easter, days))),
      [true, true, false, false, true, true],
      easter,
    )
  }
})

const dates = fc.integer({ min: 0, max: 400_000 }).map((days) => addDays('1970-01-01', days))

t.test('the next day is the first one that is open, at most five days later', async () => {
  fc.assert(
    fc.property(dates, (date) => {
      const next = targetDayFrom(date)
      const skipped = [0, 1, 2, 3, 4].map((days) => addDays(date, days)).filter((each) => each < next)
      return isTargetDay(next) && next >= date && next <= addDays(date, 4) && !skipped.some(isTargetDay)
    }),
  )
})

t.test('a year has the holidays of TARGET, apart from weekends', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1970, max: 3000 }), (year) => {
      const days = Array.from({ length: 366 }, (_, n) => addDays(`${year}-01-01`, n)).filter(
        (day) => +day.slice(0, 4) === year,
      )
      const weekdays = days.filter((day) => new Date(day).getUTCDay() % 6 !== 0)
      const fixed = ['01-01', '05-01', '12-25', '12-26'].filter((day) => weekdays.includes(`${year}-${day}`))
      return weekdays.filter((day) => !isTargetDay(day)).length === fixed.length + 2
    }),
  )
})

t.test('a day starts in Frankfurt', async (t) => {
  t.equal(targetDate('2026-11-27T22:59:59.999Z'), '2026-11-27')
  t.equal(targetDate('2026-11-27T23:00:00.000Z'), '2026-11-28')
  t.equal(targetDate('2026-07-01T22:00:00.000Z'), '2026-07-02')
  t.equal(targetDayFrom(targetDate('2026-11-27T23:00:00.000Z')), '2026-11-30')
})
