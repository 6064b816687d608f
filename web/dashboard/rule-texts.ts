import { matchReasons } from '../../src/domain/bank/match-reasons.js'
import { changeTexts } from '../../src/domain/refusal-texts.js'
import { ruleTexts } from '../../src/domain/rule-texts.js'
import { returnReasons } from '../../src/domain/transfer/return-reasons.js'
import { commonRefusals } from '../../src/http/refusals.js'

const refusalTexts = Object.entries(commonRefusals).map(([name, { message }]) => [name, message] as const)
const rules = [...refusalTexts, ...Object.entries(ruleTexts)]

/**
 * The English texts of rules and changes, which are the server's: the build adds them to errors.en.json, which has only those that would
 * name a header or an option that the user of a page does not know.
 */
const ruleAndChangeTexts: { readonly [key: string]: string } = Object.fromEntries([
  ...rules.map(([rule, text]) => [`rule.${rule}`, text.replaceAll('{field}', 'This field')]),
  ...Object.entries(changeTexts).map(([type, text]) => [`change.${type}`, `{by} ${text} at {at}.`]),
])

/** The texts that the build adds to the English files, by file. The reasons of matches and of returned payouts are the domain's as well. */
export const englishTexts: { readonly [area: string]: { readonly [key: string]: string } } = {
  bank: Object.fromEntries(Object.entries(matchReasons).map(([reason, words]) => [`reason.${reason}`, words])),
  errors: ruleAndChangeTexts,
  fields: Object.fromEntries(Object.entries(returnReasons).map(([code, words]) => [`reasonCode.${code}`, words])),
}
