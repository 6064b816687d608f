import { kindOf } from '../conditions.js'
import type { Document, Update } from '../read-models.js'
import { valueAt } from './columns.js'

type Fields = Record<string, unknown>

/**
 * Returns the document after an update, or the same object if nothing changed. Neither the document nor the values of the update are
 * modified, because the caller can still use them.
 * @throws TypeError that names the path, if MongoDB would reject the update
 */
export function applyUpdate(document: Document, update: Update): Document {
  const next: Fields = { ...document }
  let changed = false
  const assign = (path: string, value: unknown): void => {
    if (setPath(next, path, value)) changed = true
  }
  for (const path in update.$unset) if (unsetPath(next, path)) changed = true
  for (const path in update.$set) assign(path, update.$set[path])
  for (const path in update.$inc) {
    const held = valueAt(next, path.split('.'))
    if (held !== undefined && typeof held !== 'number')
      throw new TypeError(`read models: $inc of "${path}", which is ${kindOf(held)} and not a number`)
    assign(path, (held ?? 0) + update.$inc[path]!)
  }
  if (next._id !== document._id) throw new TypeError('read models: an update cannot change _id')
  return changed ? (next as unknown as Document) : document
}

/** Sets a value at a dotted path of `target`, which is modified, and copies the objects below it. Returns whether the value differed. */
export function setPath(target: Fields, path: string, value: unknown): boolean {
  const segments = path.split('.')
  const last = segments.pop()!
  let parent = target
  for (const segment of segments) {
    const child = Object.hasOwn(parent, segment) ? parent[segment] : {}
    if (typeof child !== 'object' || child === null || Array.isArray(child))
      throw new TypeError(`read models: path "${path}" runs through ${kindOf(child)}`)
    const copy = { ...child } as Fields
    parent[segment] = copy
    parent = copy
  }
  if (Object.hasOwn(parent, last) && sameJson(parent[last], value)) return false
  parent[last] = value
  return true
}

function unsetPath(target: Fields, path: string): boolean {
  if (valueAt(target, path.split('.')) === undefined) return false
  const segments = path.split('.')
  const last = segments.pop()!
  let parent = target
  for (const segment of segments) {
    const copy = { ...(parent[segment] as Fields) }
    parent[segment] = copy
    parent = copy
  }
  delete parent[last]
  return true
}

function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  return JSON.stringify(a) === JSON.stringify(b)
}
