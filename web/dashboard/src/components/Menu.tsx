import { ChevronDown, Ellipsis } from 'lucide-react'
import type { ReactNode } from 'react'
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { TriggerButton } from './TriggerButton'
import './Select.css'

type MenuEntry = { readonly id: string; readonly label: string } & (
  | { readonly onAction: () => void }
  /** The address of a file to save. */
  | { readonly download: string }
)

interface MenuProps {
  /** The label of the button. */
  readonly label: ReactNode
  readonly items: readonly MenuEntry[]
  /** The accessible name of the button, if its label alone is not enough. */
  readonly name?: string
}

export function Menu({ label, items, name }: MenuProps) {
  const isMore = label === '⋯'
  return (
    <MenuTrigger>
      <TriggerButton
        {...(name === undefined ? {} : { 'aria-label': name })}
        {...(isMore && { look: 'quiet', icon: true })}
      >
        {isMore ? <Ellipsis /> : label}
        {!isMore && <ChevronDown />}
      </TriggerButton>
      <Popover className="Popover" placement="bottom end">
        <AriaMenu className="Options">
          {items.map(({ id, label: itemLabel, ...entry }) => (
            <MenuItem
              key={id}
              id={id}
              className="Option"
              {...('download' in entry ? { href: entry.download, download: true } : entry)}
            >
              {itemLabel}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  )
}
