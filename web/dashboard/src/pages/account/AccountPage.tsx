import { ChangePassword } from '../../app/ChangePassword'
import { useSession } from '../../app/current-session'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { Facts } from '../../components/Facts'
import { Page } from '../../components/Page'
import { notify } from '../../components/Toasts'
import { OwnSessions } from './OwnSessions'
import { SecondFactor } from './SecondFactor'
import './AccountPage.css'

export function AccountPage() {
  const text = useText()
  return (
    <Page title={text('account.title')}>
      <div className="AccountPage">
        <div className="stack">
          <Profile />
          <SecondFactor />
        </div>
        <Card title={text('fields.password')}>
          <p className="muted">{text('account.passwordHelp')}</p>
          <ChangePassword
            currentLabel={text('account.currentPassword')}
            onChanged={() => notify(text('account.passwordChanged'))}
          />
        </Card>
      </div>
      <OwnSessions />
    </Page>
  )
}

function Profile() {
  const text = useText()
  const { user } = useSession()
  const nameOf = useMerchantName()
  const merchants = user.merchantIds?.map(nameOf).join(', ') ?? text('common.allMerchants')
  return (
    <Card title={text('account.profile')}>
      <Facts
        items={[
          { label: text('fields.name'), value: user.name },
          { label: text('fields.email'), value: user.email },
          { label: text('fields.role'), value: text(`common.role.${user.role}`) },
          { label: text('fields.merchantIds'), value: merchants },
        ]}
      />
    </Card>
  )
}
