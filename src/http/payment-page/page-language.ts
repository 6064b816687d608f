import { readFileSync } from 'node:fs'
import type { FastifyRequest } from 'fastify'
import type { Currency } from '../../domain/currency.js'
import { formatTwoDecimals } from '../../domain/money.js'

type TextFile = typeof import('../../../web/payment-page/texts/en.json')
export type Texts = TextFile['page'] & TextFile['script']

const english = readTexts('en')
/** What customers read. `{…}` is filled in. */
export const languages = { en: english.texts, tr: readTexts('tr').texts }
/** Of what the page's script says by itself. */
export const scriptKeys = english.scriptKeys
export type Language = keyof typeof languages
export const languageCodes = Object.keys(languages) as Language[]

function readTexts(code: string) {
  const file = new URL(import.meta.resolve(`#web/payment-page/texts/${code}.json`))
  const { page, script }: TextFile = JSON.parse(readFileSync(file, 'utf8'))
  const texts: Texts = { ...page, ...script }
  return { texts, scriptKeys: Object.keys(script) as (keyof TextFile['script'])[] }
}

/**
 * `?lang=`, which the page's own switch sets, wins over what the browser asks for (Accept-Language); English otherwise. A parameter
 * that is given twice, or is anything else, does not count.
 */
export function requestLanguage({ query, headers }: FastifyRequest): Language {
  const { lang } = query as { readonly lang?: unknown }
  if (isLanguage(lang)) return lang
  const ranges = (headers['accept-language'] ?? '').slice(0, 500).split(',')
  const wanted = ranges.flatMap((range) => {
    const [tag = '', ...parameters] = range.trim().toLowerCase().split(';')
    const quality = Number(parameters.map((each) => /^\s*q=([\d.]+)\s*$/.exec(each)?.[1]).find(Boolean) ?? 1)
    const language = tag.split('-')[0]
    return isLanguage(language) && quality > 0 ? [{ language, quality }] : []
  })
  // Stable: among equals the one that is named first.
  return wanted.sort((a, b) => b.quality - a.quality)[0]?.language ?? 'en'
}

function isLanguage(value: unknown): value is Language {
  return typeof value === 'string' && Object.hasOwn(languages, value)
}

/** Replaces `{name}`; the result is plain text, to be escaped where it becomes HTML. */
export function fill(text: string, values: { readonly [name: string]: string }): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** An amount as this language writes it, with the currency. */
export function formatMoney(language: Language, { code, decimals }: Currency, amountMinor: bigint): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: 2 }
  const format = new Intl.NumberFormat(language, { style: 'currency', currency: code, ...digits })
  // Of a text: exact, whatever the size.
  return format.format(formatTwoDecimals(amountMinor) as Intl.StringNumericLiteral)
}
