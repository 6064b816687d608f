import { readFileSync } from 'node:fs'
import type { FastifyRequest } from 'fastify'
import { type Currency, formatTwoDecimals } from '../../domain/money.js'

type TextFile = typeof import('../../../web/payment-page/texts/en.json')
export type Texts = TextFile['page'] & TextFile['script']

const english = readTexts('en')
/** The texts for customers. `{…}` is a placeholder. */
export const languages = { en: english.texts, tr: readTexts('tr').texts }
/** The texts of the page's script. */
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
 * Chooses the language: `?lang=`, which the page's switch sets, then the browser's Accept-Language, then English. A repeated or
 * unknown parameter is ignored.
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
  // The sort is stable: the first of equal languages wins.
  return wanted.sort((a, b) => b.quality - a.quality)[0]?.language ?? 'en'
}

function isLanguage(value: unknown): value is Language {
  return typeof value === 'string' && Object.hasOwn(languages, value)
}

/** Replaces `{name}`. The result is plain text and must be escaped in HTML. */
export function fill(text: string, values: { readonly [name: string]: string }): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** Formats an amount with the currency for the language. */
export function formatMoney(language: Language, { code, decimals }: Currency, amountMinor: bigint): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: 2 }
  const format = new Intl.NumberFormat(language, { style: 'currency', currency: code, ...digits })
  // Formatting a text is exact, regardless of the size.
  return format.format(formatTwoDecimals(amountMinor) as Intl.StringNumericLiteral)
}
