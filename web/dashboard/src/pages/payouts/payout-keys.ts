import { useEffect, useState } from 'react'
import { preference, setPreference } from '../../app/preferences'

/** The keys of actions on the current withdrawal, in the order in which the help lists them. */
export const actionKeys = {
  c: 'claim',
  r: 'release',
  p: 'complete',
  a: 'approve',
  m: 'manual-control',
  d: 'cancel',
} as const

export type KeyedAction = (typeof actionKeys)[keyof typeof actionKeys]

/** The keys that copy a line of the payment, in the order of the lines. */
export const copyKeys = ['1', '2', '3', '4'] as const
type CopyKey = (typeof copyKeys)[number]
export type PayoutKey = KeyedAction | CopyKey | 'next' | 'previous' | 'select' | 'file' | 'help'

/** A key press. Each press is a new object. */
export interface PressedKey {
  readonly key: PayoutKey
}

const otherKeys: { readonly [key: string]: PayoutKey } = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  x: 'select',
  ' ': 'select',
  b: 'file',
  '?': 'help',
  ...Object.fromEntries(copyKeys.map((key) => [key, key])),
}

/** Returns the key of an action in capitals, like the keyboard. */
export function keyOf(action: PayoutKey): string {
  const found = Object.entries({ ...otherKeys, ...actionKeys }).find(([, name]) => name === action)
  return found?.[0].toUpperCase() ?? ''
}

const preferenceName = 'payouts.keys'
/** Elements that handle all keys themselves: text fields, lists and whatever opens above the page. */
const keyOwners =
  'input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu], [role=listbox]'
/** Elements that Space or an arrow key controls. */
const spaceOwners = 'a, button:not([data-row]), input, [role=button], [role=tab]'
const arrowOwners = '[role=tab]'

function payoutKey(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>, target: Element | null) {
  if (event.ctrlKey || event.metaKey || event.altKey || target?.closest(keyOwners)) return undefined
  if (event.key === ' ' && target?.closest(spaceOwners)) return undefined
  if (event.key.startsWith('Arrow') && target?.closest(arrowOwners)) return undefined
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  return otherKeys[key] ?? (actionKeys as { readonly [key: string]: KeyedAction })[key]
}

/** Single-letter keys can be turned off (WCAG 2.1.4), because speech input may trigger them by accident. */
export function usePayoutKeys(onKey: (key: PayoutKey) => void) {
  const [on, setOn] = useState(() => preference(preferenceName) !== 'off')
  useEffect(() => {
    if (!on) return
    const pressed = (event: KeyboardEvent) => {
      const key = payoutKey(event, event.target instanceof Element ? event.target : null)
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
