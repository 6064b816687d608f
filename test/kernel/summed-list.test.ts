import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { firstItem, listOf, type SummedList, totalOf, withItem, withoutItem } from '../../src/kernel/summed-list.js'

const order = { compare: (a: number, b: number) => a - b, amountOf: (item: number) => BigInt(item) }

/** Lists of some thousand numbers have four levels. */
const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 5000 }), { maxLength: 3000, size: 'max' })
const range = fc.tuple(fc.integer({ min: -1, max: 5001 }), fc.nat(5000)).map(([from, length]) => [from, from + length])

function equals(list: SummedList<number>, items: readonly number[], ranges: readonly number[][]) {
  for (const [from, to] of [...ranges, [-1, 5001]] as [number, number][]) {
    const inRange = items.filter((item) => item >= from && item <= to)
    const position = (item: number) => (item < from ? -1 : Number(item > to))
    const sum = BigInt(inRange.reduce((total, item) => total + item, 0))
    deepStrictEqual(totalOf(list, position, order), { count: inRange.length, sum })
    const first = inRange.length === 0 ? undefined : inRange.reduce((least, item) => Math.min(least, item))
    deepStrictEqual(firstItem(list, position), first)
  }
}

t.test(
  'a list finds and sums each range of its items as an array does, and no change affects an earlier list',
  async () => {
    const property = fc.property(numbers, numbers, fc.array(range, { maxLength: 20 }), (start, changes, ranges) => {
      const items = new Set(start)
      let list = listOf(start, order)
      const earlier: [SummedList<number>, readonly number[]][] = []
      for (const [index, item] of changes.entries()) {
        if (index % 500 === 0) earlier.push([list, [...items]])
        list = items.has(item) ? withoutItem(list, item, order) : withItem(list, item, order)
        if (!items.delete(item)) items.add(item)
      }
      for (const [list, items] of earlier) equals(list, items, ranges)
      equals(list, [...items], ranges)
      for (const item of items) list = withoutItem(list, item, order)
      deepStrictEqual(list, undefined)
    })
    fc.assert(property, { seed: 20_262, numRuns: 30 })
  },
)

t.test('a list whose end grows while its start is removed does not become deeper', async (t) => {
  let list = listOf([0], order)
  for (let item = 1; item < 20_000; item++) {
    list = withItem(list, item, order)
    if (item >= 100) list = withoutItem(list, item - 100, order)
  }
  equals(
    list,
    [...Array(100).keys()].map((item) => 19_900 + item),
    [],
  )
  t.ok(depthOf(list) <= 4, `${depthOf(list)} levels`)
})

const depthOf = (list: SummedList<number>): number =>
  list && 'children' in list ? 1 + Math.max(...list.children.map(depthOf)) : 1
