import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/api-client'
import type { ProjectionAction, ProjectionItem, ProjectionsAnswer } from '../../api/contract'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CappedCount } from '../../components/CappedCount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Menu } from '../../components/Menu'
import { Time } from '../../components/Time'
import { ProjectionDialog } from './ProjectionDialog'
import { OtherVersions, ProjectionState, Task } from './ProjectionState'
import { hasActiveTask, nodeOf } from './shown-tasks'

const busyMs = 2_000
const quietMs = 5_000

interface Opened {
  readonly action: ProjectionAction
  /** `undefined` for all projections. */
  readonly projection: ProjectionItem | undefined
}

export function ProjectionList() {
  const text = useText()
  const canManage = usePermission('operations:manage')
  const [opened, setOpened] = useState<Opened>()
  const query = useQuery({
    queryKey: ['projections'],
    queryFn: ({ signal }) => api.get<ProjectionsAnswer>('/operations/projections', {}, signal),
    refetchInterval: ({ state }) => (state.data?.items.some(hasActiveTask) ? busyMs : quietMs),
  })
  const columns = useColumns(canManage, (action, projection) => setOpened({ action, projection }))
  return (
    <Card
      title={text('operations.projections')}
      actions={
        canManage && (
          <Button onPress={() => setOpened({ action: 'rebuild', projection: undefined })}>
            {text('operations.rebuildAll')}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('operations.projections')}
            columns={columns}
            rows={items}
            rowId={({ name }) => name}
            empty={<Empty title={text('operations.noProjections')} />}
          />
        )}
      </Loaded>
      {opened && <ProjectionDialog {...opened} onClose={() => setOpened(undefined)} />}
    </Card>
  )
}

function useColumns(
  canManage: boolean,
  open: (action: ProjectionAction, projection: ProjectionItem) => void,
): readonly Column<ProjectionItem>[] {
  const text = useText()
  const columns: Column<ProjectionItem>[] = [
    { id: 'name', header: text('fields.projection'), cell: ({ name }) => <code>{name}</code> },
    {
      id: 'state',
      header: text('fields.state'),
      wide: true,
      cell: (projection) => (
        <div className="stack-tight">
          <ProjectionState projection={projection} />
          {projection.task && <Task task={projection.task} name={projection.name} />}
          <OtherVersions projection={projection} />
        </div>
      ),
    },
    {
      id: 'lag',
      header: text('operations.lag'),
      align: 'end',
      cell: ({ lagEvents }) => <CappedCount count={lagEvents} />,
    },
    {
      id: 'last',
      header: text('fields.lastEventAt'),
      cell: ({ lastEventAt }) => lastEventAt !== null && <Time at={lastEventAt} />,
    },
    {
      id: 'holder',
      header: text('operations.runsOn'),
      wide: true,
      cell: ({ holder }) =>
        holder === null ? text('operations.noNode') : <code title={holder}>{nodeOf(holder)}</code>,
    },
  ]
  if (!canManage) return columns
  const cell = (projection: ProjectionItem) =>
    projection.actions.length > 0 && (
      <Menu
        label="⋯"
        name={text('operations.actionsFor', { projection: projection.name })}
        items={projection.actions.map((action) => ({
          id: action,
          label: text(`operations.action.${action}`),
          onAction: () => open(action, projection),
        }))}
      />
    )
  return [...columns, { id: 'actions', header: text('common.actions'), cell }]
}
