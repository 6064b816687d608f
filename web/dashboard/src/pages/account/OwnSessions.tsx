import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useIntl } from 'react-intl'
import type { SessionItem, SessionsResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { setSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Flag } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Confirm } from '../../components/Confirm'
import { type Column, DataTable } from '../../components/DataTable'
import { Loaded } from '../../components/Loaded'
import { Problem } from '../../components/Problem'
import { useSessionColumns } from '../../components/session-columns'
import { exactTime } from '../../components/Time'
import { notify } from '../../components/Toasts'

const queryKey = ['own-sessions']

export function OwnSessions() {
  const text = useText()
  const [isConfirming, setConfirming] = useState(false)
  const query = useQuery({ queryKey, queryFn: ({ signal }) => api.get<SessionsResponse>('/sessions', {}, signal) })
  const everywhere = useAction({ run: () => api.send('DELETE', '/sessions'), onSuccess: () => setSession(null) })
  const end = useAction({
    run: (sessionId: string) => api.send('DELETE', `/sessions/${sessionId}`),
    onSuccess: () => notify(text('account.ended')),
    refresh: [queryKey],
  })
  const columns = useColumns(end.start)
  return (
    <Card
      title={text('account.sessions')}
      actions={
        <Button look="bad" onPress={() => setConfirming(true)}>
          {text('account.everywhere')}
        </Button>
      }
    >
      {end.error && <Problem error={end.error} />}
      <Loaded query={query}>
        {({ items }) => (
          <DataTable label={text('account.sessions')} columns={columns} rows={items} rowId={idOf} empty={null} />
        )}
      </Loaded>
      <Confirm
        title={text('account.everywhereTitle')}
        open={isConfirming}
        onClose={() => setConfirming(false)}
        onConfirm={() => everywhere.start()}
        confirm={text('account.everywhere')}
        pending={everywhere.pending}
        error={everywhere.error}
        danger
      >
        <p>{text('account.everywhereHelp')}</p>
      </Confirm>
    </Card>
  )
}

function idOf({ sessionId }: SessionItem): string {
  return sessionId
}

function useColumns(end: (sessionId: string) => void): readonly Column<SessionItem>[] {
  const text = useText()
  const intl = useIntl()
  return [
    ...useSessionColumns(),
    {
      id: 'end',
      card: 'status',
      header: text('common.actions'),
      cell: ({ sessionId, current, address, createdAt }) =>
        current ? (
          <Flag>{text('account.thisSession')}</Flag>
        ) : (
          <Button
            aria-label={text('account.endSession', { address, when: exactTime(intl, createdAt) })}
            onPress={() => end(sessionId)}
          >
            {text('account.end')}
          </Button>
        ),
    },
  ]
}
