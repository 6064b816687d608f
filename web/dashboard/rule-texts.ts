import { changeTexts } from '../../src/domain/refusal-texts.js'
import { ruleTexts } from '../../src/domain/rule-texts.js'
import { commonRefusals } from '../../src/http/refusals.js'

const refusalTexts = Object.entries(commonRefusals).map(([name, { message }]) => [name, message] as const)
const rules = [...refusalTexts, ...Object.entries(ruleTexts)]

/**
 * The English texts of rules and changes, which are the server's: the build adds them to errors.en.json, which has only those that would
 * name a header or an option that the user of a page does not know.
 */
export const englishRuleTexts: { readonly [key: string]: string } = Object.fromEntries([
  ...rules.map(([rule, text]) => [`rule.${rule}`, text.replaceAll('{field}', 'This field')]),
  ...Object.entries(changeTexts).map(([type, text]) => [`change.${type}`, `{by} ${text} at {at}.`]),
])
