import { useContext, useMemo } from 'react'
import { useIntl } from 'react-intl'
import { type Change, kindOf, type ValueKind } from '../../../../src/domain/rule-values'
import type { Reason } from '../api/api-error'
import { useActorName } from '../app/actor-names'
import { SessionContext } from '../app/current-session'
import { type TextId, useKnownText } from '../app/texts'
import { amountsIn } from './amount-format'
import { exceededText } from './exceeded-limits'
import { exactTime } from './Time'

/** Returns a function that writes a reason of the server in the viewer's language, with amounts and times in the viewer's format. */
export function useRefusalText(): (reason: Reason) => string {
  const known = useKnownText()
  const intl = useIntl()
  const actorName = useActorName()
  // On the sign-in page, no user is signed in yet.
  const currency = useContext(SessionContext)?.currency
  return useMemo(() => {
    const amounts = currency && amountsIn(intl.locale, currency)
    const changeText = ({ type, by, at }: Change) => {
      const change = { by: actorName(by), at: exactTime(intl, at) }
      const event = known(`events.${type}`) ?? type
      return known(`errors.change.${type}`, change) ?? known('errors.otherChange', { event, ...change })
    }
    const formats: { readonly [kind in ValueKind]: (value: never) => string | undefined } = {
      amount: (minor: number) => amounts?.format(minor),
      number: (number: number) => intl.formatNumber(number),
      time: (at: string) => exactTime(intl, at),
      actor: actorName,
      status: (status: string) => known(`common.status.${status}`),
      role: (role: string) => known(`common.role.${role}`),
      task: (task: string) => known(`operations.task.${task}`),
      changes: (changes: readonly Change[]) =>
        changes.length === 0 ? known('errors.noChange') : changes.map(changeText).join(' '),
      limits: (exceeded: Parameters<typeof exceededText>[0]) =>
        amounts && exceededText(exceeded, known, (minor) => amounts.format(minor)),
      text: (text: string) => text,
    }
    return ({ rule, values = {}, message, subject }) => {
      const shown = Object.entries(values).map(([name, value]) => {
        const format = formats[kindOf(name)] as (value: unknown) => string | undefined
        return [name, format(value) ?? String(value)]
      })
      // Typed, so that no rule is without a text.
      const id: TextId | undefined = rule && `errors.rule.${rule}`
      const text = (id && known(id, Object.fromEntries(shown))) ?? message
      return subject === undefined ? text : `${subject}: ${text}`
    }
  }, [known, intl, actorName, currency])
}
