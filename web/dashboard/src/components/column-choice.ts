import { useState } from 'react'
import { preference, setPreference } from '../app/preferences'

export interface Choosable {
  readonly id: string
  readonly header: string
  readonly optional?: boolean
}

export type Visible = Record<string, boolean>

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
