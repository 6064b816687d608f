import type { ruleTexts } from './rule-texts.js'
import type { Kinds, kinds, RuleValues } from './rule-values.js'

export type RuleName = keyof typeof ruleTexts
type NoValues = Readonly<Record<string, never>>
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Exclude<Name, 'field'> | NamesIn<Rest>
  : never
type KindOf<Name> = Name extends keyof typeof kinds ? (typeof kinds)[Name] : 'text'
type ValuesNamed<Name extends string> = [Name] extends [never]
  ? [values?: NoValues]
  : [values: { readonly [Each in Name]: Kinds[KindOf<Each>] }]

/** The last argument of a function that takes a rule: the values that its text names, if it names any. */
export type ValueArguments<Rule extends string> = Rule extends RuleName
  ? ValuesNamed<NamesIn<(typeof ruleTexts)[Rule]>>
  : [values?: NoValues]

/** A rule that a command or a field violates, without a word of any language. */
export type Violation<Rule extends string = RuleName> = { readonly rule: Rule; readonly values: RuleValues }

export interface FieldViolation extends Violation {
  readonly field: string
}
