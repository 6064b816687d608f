import { Check, Columns3 } from 'lucide-react'
import { Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { useText } from '../app/texts'
import type { Choosable, Visible } from './column-choice'
import { TriggerButton } from './TriggerButton'
import './Select.css'

interface ColumnChoiceProps {
  readonly columns: readonly Choosable[]
  readonly visible: Visible
  readonly onChange: (ids: readonly string[]) => void
}

export function ColumnChoice({ columns, visible, onChange }: ColumnChoiceProps) {
  const text = useText()
  const shown = columns.filter(({ id }) => visible[id])
  return (
    <MenuTrigger>
      <TriggerButton look="quiet" small icon aria-label={text('common.columns')}>
        <Columns3 />
      </TriggerButton>
      <Popover className="Popover">
        <Menu
          className="Options"
          selectionMode="multiple"
          disallowEmptySelection
          selectedKeys={shown.map(({ id }) => id)}
          onSelectionChange={(keys) =>
            onChange(columns.filter(({ id }) => keys === 'all' || keys.has(id)).map(({ id }) => id))
          }
        >
          {columns.map(({ id, header }) => (
            <MenuItem key={id} id={id} className="Option">
              {header}
              <Check className="Option-check icon-14" />
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
