import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import fp from 'fastify-plugin'
import { violate } from '../../domain/decider.js'
import type { Violation } from '../../domain/rules.js'
import { RequestError } from '../refusals.js'
import { fieldPath, shownKey } from './field-paths.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes as received; null without a body. */
    rawBody: Buffer | null
    /** The raw text of the top-level `amount`, such as `100.00`, which JSON.parse turns into 100; `undefined` unless a number. */
    amountText: string | undefined
  }
}

/** All are plain JSON. A schema for only one of them could be bypassed by sending the other. */
export const jsonTypes = ['application/json', 'application/json-patch+json']

/** Adds one parser for every accepted content type. */
export const jsonBodies = fp(async (app) => {
  app.decorateRequest('rawBody', null)
  app.decorateRequest('amountText', undefined)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonTypes, { parseAs: 'buffer' }, (request, body, done) => {
    const encoding = encodingProblem(request.headers)
    if (encoding) return done(new RequestError('unsupported-media-type', { details: encoding }))
    const bytes = body as Buffer
    // A request without a body, regardless of its content type. The route's schema decides whether it is allowed.
    if (bytes.length === 0) return done(null, undefined)
    try {
      const { value, amountText } = parseJsonBody(bytes)
      request.rawBody = bytes
      request.amountText = amountText
      done(null, value)
    } catch (error) {
      done(error as Error)
    }
  })
})

/** A body in a different encoding would be misread as UTF-8. */
function encodingProblem(headers: IncomingHttpHeaders): string | undefined {
  const type = headers['content-type'] ?? ''
  const charsets = type.includes(';') ? type.matchAll(/;\s*charset\s*=\s*"?([^\s;"]*)/gi) : []
  if ([...charsets].some(([, charset]) => !/^utf-?8$/i.test(charset!))) return 'The charset must be UTF-8.'
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding.toLowerCase() === 'identity' ? undefined : 'Send the body without a Content-Encoding.'
}

const maxDepth = 20

type Path = readonly (string | number)[]

/** Returns the refusal of a body. `path`: leads to the field that violates the rule, and is empty for the whole body. */
function malformed(violation: Violation, path: Path): RequestError {
  return new RequestError('malformed-body', { violation, fields: [{ field: fieldPath(path), ...violation }] })
}

/**
 * Parses a request's JSON once, strictly: JSON.parse keeps the last of duplicate keys, so a checker and a reader may see
 * different requests. They are rejected at any depth, as are deep nesting,
 * `constructor.prototype`, and `__proto__` unless its value is a text.
 * @throws RequestError
 */
export function parseJsonBody(bytes: Buffer) {
  if (!isUtf8(bytes)) throw malformed(violate('not-utf8'), [])
  const text = bytes.toString('utf8')
  const { colons, amountText } = scan(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed(violate('not-json'), brokenField(text))
  }
  if (countKeys(value) !== colons) refuseDuplicates(text)
  return { value, amountText }
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const letterA = 0x61

/**
 * Scans text that may be invalid JSON in one pass. It runs on every request, so it only checks characters. Returns the number of colons
 * outside strings, which is one per key, and the text of the amount. @throws RequestError if the nesting is too deep
 */
function scan(text: string) {
  let colons = 0
  let amountText: string | undefined
  let depth = 0
  let stringStart = 0
  let stringEnd = 0
  let lastStart = 0
  let lastEnd = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === quote) {
      stringStart = i
      i = endOfString(text, i + 1)
      stringEnd = i + 1
    } else if (char === colon) {
      colons++
      if (depth === 1) {
        lastStart = stringStart
        lastEnd = stringEnd
        if (isAmount(text, stringStart, stringEnd)) amountText = numberAt(text, i + 1)
      }
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth > maxDepth) {
        const lastField = lastEnd > 0 ? [keyAt(text, lastStart, lastEnd)] : []
        throw malformed(violate('nested-too-deeply', { most: maxDepth }), lastField)
      }
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return { colons, amountText }
}

/** Returns the index of the closing quote, or the end of the text if it is missing. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (before >= from && text.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}

/** The first character distinguishes most keys: only a key that starts with this one or with an escape is extracted. */
function isAmount(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start + 1)
  return (first === letterA || first === backslash) && keyAt(text, start, end) === 'amount'
}

/** A key can contain escapes: `"\u0061mount"` is also `amount`. */
function keyAt(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1)
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return raw
  }
}

const numberToken = /[ \t\n\r]*(-?[0-9][0-9.eE+-]*)/y

function numberAt(text: string, from: number): string | undefined {
  numberToken.lastIndex = from
  return numberToken.exec(text)?.[1]
}

/** Yields the structural characters, each with the place of the string before it, which is the key of a colon. */
function* structureOf(text: string) {
  let start = 0
  let end = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === '"') {
      start = at
      at = endOfString(text, at + 1)
      end = at + 1
    } else if ('{[}]:,'.includes(char)) yield { char, at, start, end }
  }
}

/** Returns the path of the first top-level field whose value is invalid or incomplete JSON, or of the body. */
function brokenField(text: string): Path {
  let depth = 0
  let field: string | undefined
  let valueStart = 0
  for (const { char, at, start, end } of structureOf(text)) {
    if (char === ':') {
      if (depth !== 1) continue
      field = keyAt(text, start, end)
      valueStart = at + 1
    } else if (char === '{' || char === '[') depth++
    else {
      if (depth === 1 && field !== undefined) {
        if (!isJson(text.slice(valueStart, at))) return [field]
        field = undefined
      }
      if (char !== ',') depth--
    }
  }
  return field === undefined ? [] : [field]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Counts the keys at all depths. @throws RequestError for a key that could reach a prototype */
function countKeys(value: unknown, path: Path = []): number {
  if (value === null || typeof value !== 'object') return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (item !== null && typeof item === 'object') keys += countKeys(item, [...path, index])
    }
    return keys
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    // As a key of metadata, it is a text like any other.
    if (key === '__proto__' && typeof item !== 'string')
      throw malformed(violate('key-not-allowed', { key }), [...path, key])
    keys++
    if (item !== null && typeof item === 'object') {
      if (key === 'constructor' && Object.hasOwn(item, 'prototype')) {
        throw malformed(violate('key-not-allowed', { key: 'constructor.prototype' }), [...path, key])
      }
      keys += countKeys(item, [...path, key])
    }
  }
  return keys
}

/** Finds the duplicate key that explains a difference of the counts. @throws RequestError always */
function refuseDuplicates(text: string): never {
  const open: { readonly keys: Set<string>; at: string | number }[] = []
  for (const { char, start, end } of structureOf(text)) {
    const inner = open.at(-1)
    if (char === '{' || char === '[') open.push({ keys: new Set(), at: char === '[' ? 0 : '' })
    else if (char === '}' || char === ']') open.pop()
    else if (inner && char === ':') {
      const key = keyAt(text, start, end)
      inner.at = key
      if (inner.keys.has(key)) {
        const path = open.map(({ at }) => at)
        throw malformed(violate('key-repeated', { key: shownKey(key) }), path)
      }
      inner.keys.add(key)
    } else if (typeof inner?.at === 'number') inner.at++
  }
  throw new Error('the keys were counted wrongly')
}
