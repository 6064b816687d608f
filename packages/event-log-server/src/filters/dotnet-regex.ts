import { status } from '@grpc/grpc-js'
import { CallError } from '../wire/call-error.js'

/** .NET's classes, which contain letters and digits of every script. */
const word = '\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}'
const space = '\\f\\n\\r\\t\\v\\x85\\p{Z}'
/** A boundary also counts the two joiners as letters. */
const joined = `[${word}\\u200c\\u200d]`
const anyCharacter = '[\\s\\S]'
/** Without the flag `m`, `$` matches only at the end of the text. */
const atEnd = '(?=\\n?$)'

const outside: { readonly [letter: string]: string } = {
  A: '^',
  z: '$',
  Z: atEnd,
  b: `(?:(?<=${joined})(?!${joined})|(?<!${joined})(?=${joined}))`,
  B: `(?:(?<=${joined})(?=${joined})|(?<!${joined})(?!${joined}))`,
}
/** The items of a class for each escape. */
const items: { readonly [letter: string]: string } = {
  w: word,
  s: space,
  d: '\\p{Nd}',
  D: '\\P{Nd}',
  a: '\\x07',
  e: '\\x1b',
}
const categories = /^(?:C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/

/** Returns a JavaScript expression that matches as .NET's does. @throws CallError for a construct without an equivalent, SyntaxError */
export function dotnetRegex(text: string): RegExp {
  return new Translation(text).expression()
}

/** Translates by recursive descent. Every literal is escaped, because the result has the flag `u`, which categories require. */
class Translation {
  #at = 0
  #atomic = 0
  readonly #options = new Set<string>()

  constructor(private readonly text: string) {}

  expression(): RegExp {
    const [all = '', on = '', off] = /^\(\?([imnsx]+)(-[imnsx]+)?\)/.exec(this.text) ?? []
    for (const option of on) if (!off?.includes(option)) this.#options.add(option)
    this.#at = all.length
    const source = this.#sequence()
    if (this.#at < this.text.length) throw new SyntaxError('unmatched parenthesis')
    if (this.#atomic > 0 && /\\[1-9]/.test(this.text)) throw unsupported('(?>…) with a numbered reference')
    return new RegExp(source, this.#options.has('i') ? 'iu' : 'u')
  }

  /** Translates up to an unmatched closing parenthesis, which a caller takes. */
  #sequence(): string {
    let source = ''
    while (this.#at < this.text.length && this.text[this.#at] !== ')') source += this.#next()
    return source
  }

  #next(): string {
    const character = String.fromCodePoint(this.text.codePointAt(this.#at)!)
    if (this.#options.has('x') && /[\s#]/.test(character)) {
      this.#match(/\s+|#[^\n]*/y)
      return ''
    }
    if (character === '(') return this.#group()
    if (character === '[') return this.#class()
    if (character === '\\') return this.#escape()
    const quantifier = this.#match(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)
    if (quantifier !== undefined) return quantifier
    this.#take(character.length)
    if (character === '.') return this.#options.has('s') ? anyCharacter : '[^\\n]'
    if (character === '^') return this.#options.has('m') ? '(?<![^\\n])' : '^'
    if (character === '$') return this.#options.has('m') ? '(?![^\\n])' : atEnd
    return character === '|' ? '|' : literal(character)
  }

  #group(): string {
    if (this.#match(/\(\?#[^)]*\)/y) !== undefined) return ''
    const opening = this.#match(/\(\?(?:[:=!>]|<[=!]|<[A-Za-z_]\w*>|'[A-Za-z_]\w*')|\((?!\?)/y)
    if (opening === undefined) throw unsupported(/^\(\?[^)]{0,8}/.exec(this.text.slice(this.#at))?.[0] ?? '(?')
    const content = this.#sequence()
    if (this.#take(1) !== ')') throw new SyntaxError('unfinished group')
    if (opening === '(?>') {
      const name = `atomic${++this.#atomic}`
      return `(?:(?=(?<${name}>${content}))\\k<${name}>)`
    }
    if (opening === '(') return `${this.#options.has('n') ? '(?:' : '('}${content})`
    return `${opening.replace(/'(\w+)'/, '<$1>')}${content})`
  }

  #escape(): string {
    const reference = this.#match(/\\(?:[1-9]\d*|k<\w+>|k'\w+')/y)
    if (reference !== undefined) return reference.replace(/'(\w+)'/, '<$1>')
    const anchor = outside[this.text[this.#at + 1] ?? '']
    if (anchor !== undefined) {
      this.#take(2)
      return anchor
    }
    const { inside, other } = this.#item()
    return other ?? `[${inside}]`
  }

  /** Returns the escape as items of a class, or as a separate class if it is a complement of several. */
  #item(): { readonly inside: string; readonly other?: string } {
    const category = this.#match(/\\[pP]\{[^}]*\}/y)
    if (category !== undefined) {
      if (!categories.test(category.slice(3, -1))) throw unsupported(category)
      return { inside: category }
    }
    const code = this.#match(/\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|c[A-Za-z]|[nrtfv]|0(?![0-7]))/y)
    if (code !== undefined) return { inside: code }
    const letter = this.#take(2)[1] ?? ''
    if (letter === 'W') return { inside: '', other: `[^${word}]` }
    if (letter === 'S') return { inside: '', other: `[^${space}]` }
    const known = items[letter]
    if (known !== undefined) return { inside: known }
    if (letter === '' || /[\dA-Za-z_]/.test(letter)) throw unsupported(`\\${letter}`)
    return { inside: literal(letter, true) }
  }

  #class(): string {
    this.#take(1)
    const isNegated = this.#match(/\^/y) !== undefined
    let inside = ''
    const others: string[] = []
    let subtracted = ''
    let isAfterEscape = false
    for (let isFirst = true; isFirst || this.text[this.#at] !== ']'; isFirst = false) {
      if (this.#at >= this.text.length) throw new SyntaxError('unfinished class')
      if (!isFirst && this.text.startsWith('-[', this.#at)) {
        this.#take(1)
        subtracted = `(?!${this.#class()})`
        if (this.text[this.#at] !== ']') throw new SyntaxError('a subtraction ends a class')
      } else if (this.#match(/\\b/y) !== undefined) inside += '\\x08'
      else if (this.text[this.#at] === '\\') {
        const item = this.#item()
        inside += item.inside
        if (item.other) others.push(item.other)
        isAfterEscape = item.other !== undefined || /\w\}$/.test(item.inside)
      } else {
        const character = String.fromCodePoint(this.text.codePointAt(this.#at)!)
        this.#take(character.length)
        // A hyphen after an escape such as `\w` is a literal.
        const isRange = character === '-' && !isFirst && !isAfterEscape && this.text[this.#at] !== ']'
        isAfterEscape = false
        inside += isRange ? '-' : literal(character, true)
      }
    }
    this.#take(1)
    const other = others.join('|')
    if (isNegated) return `(?:${subtracted}${other && `(?!${other})`}[^${inside}])`
    return `(?:${subtracted}(?:[${inside}]${other && `|${other}`}))`
  }

  #take(count: number): string {
    this.#at += count
    return this.text.slice(this.#at - count, this.#at)
  }

  #match(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.#at
    const [found] = sticky.exec(this.text) ?? []
    if (found !== undefined) this.#at += found.length
    return found
  }
}

function literal(character: string, isInClass = false): string {
  return (isInClass ? /[\\^$.*+?()[\]{}|/-]/ : /[\\^$.*+?()[\]{}|/]/).test(character) ? `\\${character}` : character
}

function unsupported(construct: string): CallError {
  const text = `The filter's expression uses ${construct}, which this server does not support.`
  return new CallError(status.INVALID_ARGUMENT, text.replace(/[^ -~]/g, '?'))
}
