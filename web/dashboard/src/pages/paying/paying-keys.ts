import { useEffect, useState } from 'react'
import { preference, setPreference } from '../../app/preferences'

/** Letters for what is done to the current withdrawal, in the order in which help lists them. */
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

const others: { readonly [key: string]: PayingKey } = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  ' ': 'select',
  '?': 'help',
}

const preferenceName = 'paying.keys'
/** Where keys are somebody else's: what is typed into, chosen from, or lies above the page. */
const elsewhere =
  'input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu], [role=listbox]'
/** Space and arrows mean something of their own on these. */
const ownSpace = 'a, button:not([data-row]), input, [role=button], [role=tab]'

export function payingKey(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  target: Element | null,
) {
  if (event.ctrlKey || event.metaKey || event.altKey || target?.closest(elsewhere)) return undefined
  if (event.key === ' ' && target?.closest(ownSpace)) return undefined
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  return others[key] ?? (actionKeys as { readonly [key: string]: KeyedAction })[key]
}

/** Single letters can be switched off (WCAG 2.1.4): who speaks to the computer would press them without meaning to. */
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
