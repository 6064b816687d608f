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
  /** The label of the button. */
  readonly label: ReactNode
  readonly items: readonly MenuEntry[]
  readonly look?: Look
  /** The accessible name of the button, if its label alone is not enough. */
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
          {items.map(({ id, label: itemLabel, onAction, tone }) => (
            <MenuItem key={id} id={id} onAction={onAction} className={tone ? `Option Option-${tone}` : 'Option'}>
              {itemLabel}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  )
}
