import type { Static, TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import { Type, TypeCompiler } from '../../kernel/typebox.js'

/** The responses of a wallet core (docs/reference/wallet-core.openapi.yaml). Additional fields are ignored. */

const AmountMinor = Type.Integer({ minimum: 1, maximum: 999_999_999_999_999 })
const Collected = Type.Object({
  outcome: Type.Literal('collected'),
  amountMinor: AmountMinor,
  receiptUrl: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
const Refused = Type.Object({
  outcome: Type.Literal('refused'),
  reason: Type.Union([Type.Literal('insufficient-balance'), Type.Literal('account-blocked')]),
})

export const LogInAnswer = TypeCompiler.Compile(
  Type.Union([
    Type.Object({
      outcome: Type.Literal('accepted'),
      accountNumber: Type.Integer({ minimum: 1, maximum: 999_999_999_999 }),
      sandbox: Type.Optional(Type.Boolean()),
    }),
    Type.Object({ outcome: Type.Literal('refused') }),
  ]),
)
export const CodeAnswer = TypeCompiler.Compile(Type.Object({ valid: Type.Boolean() }))
export const TrustAnswer = TypeCompiler.Compile(Type.Object({ trusted: Type.Boolean() }))
export const DoneAnswer = TypeCompiler.Compile(Type.Object({}))
export const CollectAnswer = TypeCompiler.Compile(Type.Union([Collected, Refused]))
export const CollectionAnswer = TypeCompiler.Compile(
  Type.Union([Collected, Type.Object({ outcome: Type.Literal('none') })]),
)

/** Returns the parsed response, or `undefined` if it is not JSON or does not match the schema. */
export function readAnswer<Schema extends TSchema>(text: string, form: TypeCheck<Schema>): Static<Schema> | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return form.Check(answer) ? answer : undefined
  } catch {
    return undefined
  }
}
