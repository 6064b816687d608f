import type { Document, Update } from '../read-models.js'
import { kindOf, valueAt } from './columns.js'

type Fields = Record<string, unknown>

const DOCUMENT_DEPTH_MAX = 100

/**
 * The document after an update; the very same object when nothing changed. Neither the document nor the update's values are
 * modified: both may still be in the caller's hands.
 * @throws TypeError where MongoDB refuses the update, naming the path
 */
export function applyUpdate(document: Document, update: Update, inserting: boolean): Document {
  checkOperators(update)
  const next: Fields = { ...document }
  let changed = false
  const assign = (path: string, value: unknown): void => {
    if (setPath(next, path, value)) changed = true
  }
  for (const path in update.$unset) if (unsetPath(next, path)) changed = true
  for (const path in update.$set) assign(path, update.$set[path])
  if (inserting) for (const path in update.$setOnInsert) assign(path, update.$setOnInsert[path])
  for (const path in update.$inc) {
    const by = update.$inc[path]
    if (typeof by !== 'number') throw new TypeError(`read models: $inc of "${path}" by ${kindOf(by)}`)
    const held = valueAt(next, path.split('.'))
    if (held !== undefined && typeof held !== 'number')
      throw new TypeError(`read models: $inc of "${path}", which is ${kindOf(held)} and no number`)
    assign(path, (held ?? 0) + by)
  }
  if (next._id !== document._id) throw new TypeError('read models: an update cannot change _id')
  return changed ? (next as unknown as Document) : document
}

/** Sets a value at a dotted path of an object that is ours to change, copying the objects below it. Whether it differed. */
export function setPath(target: Fields, path: string, value: unknown): boolean {
  checkJson(value, path, 0)
  const segments = path.split('.')
  const last = segments.pop()!
  let parent = target
  for (const segment of segments) {
    checkSegment(segment, path)
    const child = Object.hasOwn(parent, segment) ? parent[segment] : {}
    if (typeof child !== 'object' || child === null || Array.isArray(child))
      throw new TypeError(`read models: path "${path}" runs through ${kindOf(child)}`)
    const copy = { ...child } as Fields
    parent[segment] = copy
    parent = copy
  }
  checkSegment(last, path)
  if (Object.hasOwn(parent, last) && sameJson(parent[last], value)) return false
  parent[last] = value
  return true
}

/** @throws TypeError unless the value is JSON through and through: what SQLite's text would change silently is refused. */
export function checkJson(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (Number.isFinite(value)) return
      break
    case 'object':
      if (value === null) return
      if (depth > DOCUMENT_DEPTH_MAX) throw new TypeError(`read models: "${path}" is nested too deeply`)
      if (Array.isArray(value)) {
        for (const element of value) checkJson(element, path, depth + 1)
        return
      }
      if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null) {
        for (const name in value) {
          checkSegment(name, path)
          checkJson((value as Fields)[name], name, depth + 1)
        }
        return
      }
      break
    default:
  }
  throw new TypeError(`read models: "${path}" holds ${kindOf(value)}, which is not JSON`)
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

function checkOperators(update: Update): void {
  const paths: string[] = []
  let operators = 0
  for (const operator in update) {
    switch (operator) {
      case '$set':
      case '$setOnInsert':
      case '$unset':
      case '$inc':
        operators++
        for (const path in update[operator]) paths.push(path)
        break
      default:
        throw new TypeError(`read models: update operator ${operator} is not supported`)
    }
  }
  if (operators === 0) throw new TypeError('read models: an update needs an operator')
  const dotted = paths.some((path) => path.includes('.'))
  if (new Set(paths).size !== paths.length || (dotted && paths.some((a) => paths.some((b) => b.startsWith(`${a}.`)))))
    throw new TypeError(`read models: paths of an update conflict: ${paths.join(', ')}`)
}

function checkSegment(segment: string, path: string): void {
  if (
    segment === '' ||
    segment === '__proto__' ||
    segment.startsWith('$') ||
    segment.includes('.') ||
    segment.includes('\0')
  )
    throw new TypeError(`read models: ${JSON.stringify(segment)} in "${path}" is not a field name`)
}

function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  return JSON.stringify(a) === JSON.stringify(b)
}
