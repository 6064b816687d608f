import { fail } from './bank-file-error.js'
import type { Line } from './file-text.js'

/** A field of a SWIFT message, such as `:61:`. The tag `-` is the end of a message. */
export interface MtField {
  readonly tag: string
  readonly lines: string[]
  readonly place: string
}

/** The fields of MT940 and MT942, and those that German and Dutch banks add. A text can start with a colon, so any other tag is text. */
const field = /^:(20|21|25P?|28C?|13D?|34F|60[FM]|61|86|62[FM]|64|65|90[CD]|NS|940|942):(.*)$/

/** The text between messages: SWIFT's blocks `{1:…}`, and the headers of ABN AMRO and of mainframes. */
const betweenMessages = /^(?:\s*|\{.*|-?\}.*|\$|94[02]|[A-Z]{4}[A-Z0-9]{2,8})$/

const maxLinesOfField = 100

/** Returns the fields of all messages. @throws BankFileError for text that belongs to no field */
export async function* mtFields(lines: AsyncIterable<Line>): AsyncGenerator<MtField> {
  let current: MtField | undefined
  for await (const { text: line, place } of lines) {
    // The fourth block of a SWIFT message contains its fields.
    const text = line.replace(/^\{1:.*\{4:/, '')
    const [, tag, value = ''] = field.exec(text) ?? []
    if (tag !== undefined) {
      if (current !== undefined) yield current
      current = { tag, lines: [value], place }
    } else if (current !== undefined && /^-(?:\}.*|\s*)$/.test(text)) {
      yield current
      yield { tag: '-', lines: [], place }
      current = undefined
    } else if (current === undefined) {
      if (!betweenMessages.test(text)) fail('bank-file-damaged', { place })
    } else if (current.lines.length === maxLinesOfField) fail('bank-text-too-long', { place, most: maxLinesOfField })
    else current.lines.push(text)
  }
  if (current !== undefined) yield current
}
