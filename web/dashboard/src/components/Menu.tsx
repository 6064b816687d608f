import type { ReactNode } from 'react'
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { Button, type Look } from './Button'
import './Select.css'

export interface MenuEntry {
  readonly id: string
  readonly label: string
  readonly onAction: () => void
  readonly disabled?: boolean
  readonly tone?: 'danger'
}

interface MenuProps {
  /** Of the button. */
  readonly label: ReactNode
  readonly items: readonly MenuEntry[]
  readonly look?: Look
  /** For a button whose label is a sign. */
  readonly name?: string
}

export function Menu({ label, items, look = 'plain', name }: MenuProps) {
  return (
    <MenuTrigger>
      <Button look={look} {...(name === undefined ? {} : { 'aria-label': name })}>
        {label}
        <span aria-hidden="true">▾</span>
      </Button>
      <Popover className="Popover">
        <AriaMenu className="Options" disabledKeys={items.filter(({ disabled }) => disabled).map(({ id }) => id)}>
          {items.map(({ id, label: words, onAction, tone }) => (
            <MenuItem key={id} id={id} onAction={onAction} className={tone ? `Option Option-${tone}` : 'Option'}>
              {words}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  )
}
