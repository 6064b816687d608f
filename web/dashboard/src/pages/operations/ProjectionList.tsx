import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  ProjectionAction,
  ProjectionItem,
  ProjectionsResponse,
} from '../../../../../src/http/dashboard/operations/operations-api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CappedCount } from '../../components/CappedCount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { useDuration } from '../../components/Duration'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Menu } from '../../components/Menu'
import { Sparkline } from '../../components/Sparkline'
import { Time } from '../../components/Time'
import { projectionsQuery } from './operations-queries'
import { ProjectionDialog } from './ProjectionDialog'
import { isOver, OtherVersions, Progress, ProjectionState, Task } from './ProjectionState'
import { hasActiveTask, nodeOf } from './shown-tasks'

type ListedProjection = ProjectionsResponse['items'][number]

interface Opened {
  readonly action: ProjectionAction
  /** `undefined` for all projections. */
  readonly projection: ProjectionItem | undefined
}

export function ProjectionList() {
  const text = useText()
  const canManage = usePermission('operations:manage')
  const [opened, setOpened] = useState<Opened>()
  const query = useQuery(projectionsQuery)
  const columns = useColumns(canManage, (action, projection) => setOpened({ action, projection }))
  return (
    <Card
      id="operations-projections"
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
): readonly Column<ListedProjection>[] {
  const text = useText()
  const columns: Column<ListedProjection>[] = [
    { id: 'name', header: text('fields.projection'), card: 'title', cell: ({ name }) => <strong>{name}</strong> },
    {
      id: 'state',
      header: text('fields.state'),
      wide: true,
      card: 'name',
      cell: (projection) => (
        <div className="stack-tight">
          <ProjectionState projection={projection} />
          {projection.task && !isOver(projection.task) && <Task task={projection.task} />}
          <OtherVersions projection={projection} />
        </div>
      ),
    },
    {
      id: 'trend',
      header: text('operations.lagLastHour'),
      card: 'under',
      cell: (projection) =>
        hasActiveTask(projection) ? (
          <Progress task={projection.task!} name={projection.name} />
        ) : (
          <LagLine projection={projection} />
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
      card: 'end',
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
  return [...columns, { id: 'actions', header: text('common.actions'), card: 'status', cell }]
}

/** A lag of a minute reaches the top of the line. */
const topLagMs = 60_000

function LagLine({ projection: { name, lags } }: { readonly projection: ListedProjection }) {
  const text = useText()
  const duration = useDuration()
  const values = lags.map(({ lagMs }) => lagMs)
  if (values.length < 2) return <span className="muted small">{text('operations.lagUnknown')}</span>
  const most = Math.max(0, ...values.map((value) => value ?? 0))
  const label = text('operations.lagOf', { projection: name, most: duration(most) })
  return <Sparkline values={values} top={topLagMs} tone={most > topLagMs / 2 ? 'bad' : 'accent'} label={label} />
}
