import { SaxesParser } from 'saxes'
import { maxPaymentsOfEntry } from '../domain/bank/bank-records.js'
import { fail } from './bank-file-error.js'

/** An element of a message. Names are without the prefix, because every bank chooses its own. */
export interface XmlElement {
  readonly name: string
  /** The attribute `Ccy`. */
  readonly currency: string | null
  /** Its line and column. */
  readonly place: string
  readonly children: XmlElement[]
  text: string
}

/**
 * The parts of a message, such as a statement, and their children, such as an entry. A child is complete, except for the items that were
 * returned before it. An item is returned with the part of its child that precedes it.
 */
export type MessagePart =
  | { readonly type: 'message'; readonly name: string }
  | { readonly type: 'start' | 'end'; readonly part: string; readonly place: string }
  | { readonly type: 'child'; readonly part: string; readonly element: XmlElement }
  | { readonly type: 'item'; readonly element: XmlElement; readonly child: XmlElement }

const maxDepth = 40
const maxTextLength = 20_000
/** An entry with the largest number of payments has far less, without the payments that were returned before it. */
const maxElementsOfChild = 200_000
const maxChildLength = 100_000_000

/**
 * Reads a message in one pass and holds one child of a part in memory. `items` is the name of the elements within a child that are returned
 * separately, because there can be many. @throws BankFileError for anything that is not well-formed or exceeds a limit
 */
export async function* readMessage(
  text: AsyncIterable<string>,
  messages: readonly string[],
  items: string,
): AsyncGenerator<MessagePart> {
  const parser = new SaxesParser({ xmlns: false, position: true } as const)
  const place = () => `${parser.line}:${parser.columnIndex + 1}`
  let parts: MessagePart[] = []
  /** The open elements. Those from the message on count for the structure; a bank may add envelopes around the message. */
  const open: XmlElement[] = []
  let messageDepth = 0
  let message: string | undefined
  let lastTagAt = 0
  let written = 0
  let childAt = 0
  let elements = 0
  let elementsBeforeItem = 0
  const checkDistance = () => {
    if (parser.position - lastTagAt > maxTextLength) fail('bank-text-too-long', { place: place(), most: maxTextLength })
  }
  const levelOf = (depth: number) => (messageDepth === 0 ? 0 : depth - messageDepth)

  // A DOCTYPE can define entities, which expand a small file to gigabytes or read other files.
  parser.on('doctype', () => fail('bank-file-doctype', { place: place() }))
  parser.on('opentag', ({ name, attributes }) => {
    checkDistance()
    lastTagAt = parser.position
    if (open.length >= maxDepth) fail('bank-file-too-deep', { place: place(), most: maxDepth })
    const local = name.slice(name.indexOf(':') + 1)
    const element = { name: local, currency: attributes.Ccy ?? null, place: place(), children: [], text: '' }
    open.push(element)
    if (messageDepth === 0 && messages.includes(local)) {
      // An envelope can contain several messages, which have one format.
      if (local !== (message ?? local)) fail('bank-file-unrecognised')
      message = local
      messageDepth = open.length
      parts.push({ type: 'message', name: local })
      return
    }
    const level = levelOf(open.length)
    if (level === 1) parts.push({ type: 'start', part: local, place: element.place })
    if (level === 2) [childAt, elements] = [parser.position, 0]
    if (local === items && level > 2) elementsBeforeItem = elements
    elements += 1
    if (elements > maxElementsOfChild || (level > 2 && parser.position - childAt > maxChildLength))
      fail('bank-entry-too-large', { place: place(), most: maxPaymentsOfEntry })
  })
  const addText = (text: string) => {
    const element = open.at(-1)
    if (element !== undefined && levelOf(open.length) > 1) element.text += text
    if ((element?.text.length ?? 0) > maxTextLength) fail('bank-text-too-long', { place: place(), most: maxTextLength })
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('closetag', () => {
    checkDistance()
    lastTagAt = parser.position
    const level = levelOf(open.length)
    const element = open.pop()!
    if (level === 0 && open.length + 1 === messageDepth) messageDepth = 0
    else if (level === 1) parts.push({ type: 'end', part: element.name, place: element.place })
    else if (level === 2) parts.push({ type: 'child', part: open.at(-1)!.name, element })
    else if (level > 2 && element.name === items) {
      elements = elementsBeforeItem
      parts.push({ type: 'item', element, child: open[messageDepth + 1]! })
    } else if (level > 2) open.at(-1)!.children.push(element)
  })
  parser.on('error', () => fail('bank-file-damaged', { place: place() }))

  for await (const piece of text) {
    parser.write(piece)
    yield* parts
    parts = []
    // The parser collects a text until its end, which may never come.
    written += piece.length
    if (written - lastTagAt > maxTextLength)
      fail('bank-text-too-long', { place: String(parser.line), most: maxTextLength })
  }
  parser.close()
}

/** Returns the elements at the path, such as `NtryDtls/Btch`. */
export function allAt(element: XmlElement, path: string): readonly XmlElement[] {
  return path
    .split('/')
    .reduce<readonly XmlElement[]>(
      (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
      [element],
    )
}

/** Returns the trimmed text of the first element that has one, at the first of the paths that lead to one, or null. */
export function textAt(element: XmlElement, ...paths: readonly string[]): string | null {
  for (const path of paths) {
    for (const { text } of allAt(element, path)) if (text.trim() !== '') return text.trim()
  }
  return null
}
