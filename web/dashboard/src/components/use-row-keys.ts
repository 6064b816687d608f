import { type KeyboardEvent, useEffect, useEffectEvent, useRef, useState } from 'react'

/** Elements that handle these keys themselves. */
const keyOwners =
  'tbody, input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu], [role=listbox]'

interface RowKeysOptions {
  readonly ids: readonly string[]
  readonly open: ((index: number) => void) | undefined
  readonly selection:
    | { readonly ids: ReadonlySet<string>; readonly onChange: (ids: ReadonlySet<string>) => void }
    | undefined
}

/**
 * Moves through rows with the arrow keys, j, k, Home and End. Enter opens a row. Space selects it, and Shift+space selects the range from
 * the row that was selected last.
 */
export function useRowKeys({ ids, open, selection }: RowKeysOptions) {
  const ref = useRef<HTMLTableSectionElement>(null)
  const [activeId, setActiveId] = useState<string>()
  const anchor = useRef(0)
  const active = Math.max(0, activeId === undefined ? 0 : ids.indexOf(activeId))

  const activate = (index: number) => setActiveId(ids[index])
  const moveTo = (index: number) => {
    const target = Math.min(Math.max(index, 0), ids.length - 1)
    activate(target)
    const row = ref.current?.rows[target]
    row?.focus()
    row?.scrollIntoView({ block: 'nearest' })
  }
  const toggle = (index: number, isRange = false) => {
    if (!selection) return
    const [first, last] = isRange ? [anchor.current, index].sort((a, b) => a - b) : [index, index]
    const next = new Set(selection.ids)
    const isOn = isRange || !next.has(ids[index]!)
    for (const id of ids.slice(first, last! + 1)) isOn ? next.add(id) : next.delete(id)
    anchor.current = index
    selection.onChange(next)
  }
  const moves: { readonly [key: string]: () => void } = {
    ArrowDown: () => moveTo(active + 1),
    j: () => moveTo(active + 1),
    ArrowUp: () => moveTo(active - 1),
    k: () => moveTo(active - 1),
    Home: () => moveTo(0),
    End: () => moveTo(ids.length - 1),
  }
  const act = (event: KeyboardEvent): boolean => {
    const { key, shiftKey } = event
    const move = moves[key]
    if (move) move()
    else if (key === 'Enter' && open) open(active)
    else if (key === ' ' && selection) toggle(active, shiftKey)
    else return false
    return true
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // Buttons and fields inside a row handle their own keys.
    const isRow = event.target instanceof HTMLTableRowElement
    if (!isRow || event.ctrlKey || event.metaKey || event.altKey) return
    if (act(event)) event.preventDefault()
  }
  // J and K work wherever the focus is. On a page with several tables, they move through the first.
  const onPageKey = useEffectEvent((event: globalThis.KeyboardEvent) => {
    const { key, target, ctrlKey, metaKey, altKey, defaultPrevented } = event
    const isFirst = document.querySelector('[role=grid] tbody') === ref.current
    const isOwned = target instanceof Element && target.closest(keyOwners) !== null
    if (!isFirst || isOwned || defaultPrevented || ctrlKey || metaKey || altKey || ids.length === 0) return
    if (key !== 'j' && key !== 'k') return
    event.preventDefault()
    moveTo(active)
  })
  useEffect(() => {
    document.addEventListener('keydown', onPageKey)
    return () => document.removeEventListener('keydown', onPageKey)
  }, [])
  return { ref, active, activate, toggle, onKeyDown }
}
