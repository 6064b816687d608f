import { useEffect, useState } from 'react'
import { preference, setPreference } from '../../app/preferences'

/** The keys of actions on the current withdrawal, in the order in which the help lists them. */
export const actionKeys = {
  c: 'claim',
  r: 'release',
  p: 'complete',
  a: 'approve',
  x: 'cancel',
  m: 'manual-control',
} as const

export type KeyedAction = (typeof actionKeys)[keyof typeof actionKeys]
export type PayingKey = KeyedAction | 'next' | 'previous' | 'select' | 'help'

const otherKeys: { readonly [key: string]: PayingKey } = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  ' ': 'select',
  '?': 'help',
}

const preferenceName = 'paying.keys'
/** Elements that handle all keys themselves: text fields, lists and whatever opens above the page. */
const keyOwners =
  'input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu], [role=listbox]'
/** Elements that Space activates. */
const spaceOwners = 'a, button:not([data-row]), input, [role=button], [role=tab]'

export function payingKey(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  target: Element | null,
) {
  if (event.ctrlKey || event.metaKey || event.altKey || target?.closest(keyOwners)) return undefined
  if (event.key === ' ' && target?.closest(spaceOwners)) return undefined
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  return otherKeys[key] ?? (actionKeys as { readonly [key: string]: KeyedAction })[key]
}

/** Single-letter keys can be turned off (WCAG 2.1.4), because speech input may trigger them by accident. */
export function usePayingKeys(onKey: (key: PayingKey) => void) {
  const [on, setOn] = useState(() => preference(preferenceName) !== 'off')
  useEffect(() => {
    if (!on) return
    const pressed = (event: KeyboardEvent) => {
      const key = payingKey(event, event.target instanceof Element ? event.target : null)
      if (key === undefined || event.defaultPrevented || document.querySelector('[role=dialog], [role=alertdialog]'))
        return
      event.preventDefault()
      onKey(key)
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [on, onKey])
  const change = (next: boolean) => {
    setPreference(preferenceName, next ? 'on' : 'off')
    setOn(next)
  }
  return { on, change }
}
