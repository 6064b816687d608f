import { useMatches } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ButtonLink } from '../components/Button'
import { Empty } from '../components/Empty'
import { Page } from '../components/Page'
import { useSession } from './current-session'
import { useText } from './texts'

/** Shows the page only to users with the permission that its route requires. The server checks the permission again. */
export function RequirePermission({ children }: { readonly children: ReactNode }) {
  const text = useText()
  const { user, permissions } = useSession()
  const needs = useMatches({ select: (matches) => matches.at(-1)?.staticData.needs ?? null })
  if (needs === null || permissions.includes(needs)) return children
  return (
    <Page title={text('shell.notAllowed')}>
      <Empty title={text('shell.notAllowedHelp', { name: user.name, role: text(`common.role.${user.role}`) })}>
        <ButtonLink to="/" look="primary">
          {text('shell.toOverview')}
        </ButtonLink>
      </Empty>
    </Page>
  )
}
