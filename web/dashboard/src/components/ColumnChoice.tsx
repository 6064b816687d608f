import { Check, Columns3 } from 'lucide-react'
import { useState } from 'react'
import { Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { preference, setPreference } from '../app/preferences'
import { useText } from '../app/texts'
import { Button } from './Button'
import './Select.css'

interface Choosable {
  readonly id: string
  readonly header: string
  readonly optional?: boolean
}

type Visible = Record<string, boolean>

/** Returns which columns are visible: the choice stored in this browser under the key, or else all that are not optional. */
export function useColumnChoice(columns: readonly Choosable[], key: string | undefined) {
  const name = `columns.${key}`
  const [chosen, setChosen] = useState<readonly string[] | undefined>(() => {
    const stored = key === undefined ? undefined : preference(name)
    return stored?.split(',')
  })
  const choose = (ids: readonly string[]) => {
    setPreference(name, ids.join(','))
    setChosen(ids)
  }
  const visible: Visible = {}
  for (const { id, optional = false } of columns) visible[id] = chosen ? chosen.includes(id) : !optional
  return [visible, choose] as const
}

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
      <Button look="quiet" small icon aria-label={text('common.columns')}>
        <Columns3 />
      </Button>
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
