// A sorted list that finds, adds and removes an item, and sums a range of items, in logarithmic time. A change returns another list and leaves
// the present one unchanged. It is a B+ tree whose nodes know their number of items and the sum of these.

/** The most items of a leaf, and the most children of a branch. A change copies one node of each level. */
const maxItems = 16

export interface Order<Item> {
  /** Returns a negative number if `a` is before `b`, and 0 only for the same item. */
  compare(a: Item, b: Item): number
  amountOf(item: Item): bigint
}

/** Returns where an item is: before a range (a negative number), in it (0), or after it. */
export type Position<Item> = (item: Item) => number

interface Total {
  readonly count: number
  readonly sum: bigint
}

interface Bounds<Item> extends Total {
  readonly first: Item
  readonly last: Item
}
interface Leaf<Item> extends Bounds<Item> {
  readonly items: readonly Item[]
}
interface Branch<Item> extends Bounds<Item> {
  readonly children: readonly SummedNode<Item>[]
}
type SummedNode<Item> = Leaf<Item> | Branch<Item>

/** It is `undefined` if it is empty. */
export type SummedList<Item> = SummedNode<Item> | undefined

/** Returns a list of items, which is faster than adding them one at a time. */
export function listOf<Item>(items: readonly Item[], order: Order<Item>): SummedList<Item> {
  if (items.length === 0) return undefined
  let nodes: readonly SummedNode<Item>[] = leavesOf(items.toSorted(order.compare), order)
  while (nodes.length > 1) nodes = inParts(nodes).map(branchOf)
  return nodes[0]
}

/** Returns the list with an item that it does not contain. */
export function withItem<Item>(list: SummedList<Item>, item: Item, order: Order<Item>): SummedList<Item> {
  if (!list) return listOf([item], order)
  const nodes = added(list, item, order)
  return nodes.length > 1 ? branchOf(nodes) : nodes[0]
}

/** Returns the list without an item that it contains. */
export function withoutItem<Item>(list: SummedList<Item>, item: Item, order: Order<Item>): SummedList<Item> {
  if (!list) return undefined
  if ('items' in list) {
    const items = list.items.filter((each) => order.compare(each, item) !== 0)
    return items.length === 0 ? undefined : leafOf(items, order)
  }
  const index = indexOfChild(list, item, order)
  const child = withoutItem(list.children[index]!, item, order)
  const children = list.children.toSpliced(index, 1, ...(child ? [child] : []))
  // A branch with one child is replaced by it, so that a list whose start is removed again and again does not become deeper.
  return children.length > 1 ? branchOf(children) : children[0]
}

/** Returns the first item in a range. */
export function firstItem<Item>(list: SummedList<Item>, position: Position<Item>): Item | undefined {
  if (!list) return undefined
  if ('items' in list) return list.items.find((item) => position(item) === 0)
  return firstItem(
    list.children.find(({ last }) => position(last) >= 0),
    position,
  )
}

/** Returns the number and the sum of the items in a range. */
export function totalOf<Item>(list: SummedList<Item>, position: Position<Item>, order: Order<Item>): Total {
  let [count, sum] = [0, 0n]
  const add = (node: SummedNode<Item>): void => {
    const [first, last] = [position(node.first), position(node.last)]
    if (first > 0 || last < 0) return
    if (first === 0 && last === 0) {
      count += node.count
      sum += node.sum
    } else if ('children' in node) {
      for (const child of node.children) add(child)
    } else {
      for (const item of node.items) if (position(item) === 0) add(leafOf([item], order))
    }
  }
  if (list) add(list)
  return { count, sum }
}

/** Returns the node with the item, in two parts if it would be too large. */
function added<Item>(node: SummedNode<Item>, item: Item, order: Order<Item>): readonly SummedNode<Item>[] {
  if ('items' in node) {
    const next = node.items.findIndex((each) => order.compare(each, item) > 0)
    return leavesOf(node.items.toSpliced(next === -1 ? node.items.length : next, 0, item), order)
  }
  const index = indexOfChild(node, item, order)
  const children = node.children.toSpliced(index, 1, ...added(node.children[index]!, item, order))
  return inParts(children).map(branchOf)
}

/** Returns the child that contains the item if the branch does, and to which it is added otherwise. */
function indexOfChild<Item>({ children }: Branch<Item>, item: Item, order: Order<Item>): number {
  const next = children.findIndex(({ last }) => order.compare(last, item) >= 0)
  return next === -1 ? children.length - 1 : next
}

/** Returns parts that are half full, if there are too many for one. */
function inParts<Part>(all: readonly Part[]): readonly (readonly Part[])[] {
  if (all.length <= maxItems) return [all]
  const size = maxItems / 2 + 1
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))
}

function leavesOf<Item>(items: readonly Item[], order: Order<Item>): readonly Leaf<Item>[] {
  return inParts(items).map((part) => leafOf(part, order))
}

function leafOf<Item>(items: readonly Item[], { amountOf }: Order<Item>): Leaf<Item> {
  let sum = 0n
  for (const item of items) sum += amountOf(item)
  return { items, count: items.length, sum, first: items[0]!, last: items.at(-1)! }
}

function branchOf<Item>(children: readonly SummedNode<Item>[]): Branch<Item> {
  let [count, sum] = [0, 0n]
  for (const child of children) {
    count += child.count
    sum += child.sum
  }
  return { children, count, sum, first: children[0]!.first, last: children.at(-1)!.last }
}
