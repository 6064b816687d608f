import { useNavigate } from '@tanstack/react-router'
import { Header, type Key, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components'
import { Button } from '../components/Button'
import { useSession } from './current-session'
import { type Language, languages, useChosenLanguage } from './language'
import { useSignOut } from './SignOut'
import { useText } from './texts'
import { type Theme, themes, useTheme } from './theme'

export function UserMenu() {
  const text = useText()
  const { user } = useSession()
  const { language, choose: chooseLanguage } = useChosenLanguage()
  const { theme, choose: chooseTheme } = useTheme()
  const { signOut } = useSignOut()
  const navigate = useNavigate()
  const act = (key: Key) => {
    if (key === 'account') void navigate({ to: '/account' })
    if (key === 'sign-out') signOut()
  }
  return (
    <MenuTrigger>
      <Button look="quiet" className="TopBar-user">
        <span aria-hidden="true" className="TopBar-initial">
          {[...user.name][0]}
        </span>
        <span className="TopBar-text">{user.name}</span>
        <span aria-hidden="true">▾</span>
      </Button>
      <Popover className="Popover">
        <Menu className="Options" onAction={act}>
          <MenuItem id="account" textValue={text('account.title')} className="Option">
            <span>
              {text('account.title')}
              <br />
              <span className="muted small">{`${user.email} · ${text(`common.role.${user.role}`)}`}</span>
            </span>
          </MenuItem>
          <Choice
            title={text('shell.language')}
            chosen={language}
            options={Object.entries(languages)}
            onChoose={(key) => chooseLanguage(key as Language)}
          />
          <Choice
            title={text('shell.theme')}
            chosen={theme}
            options={themes.map((each) => [each, text(`shell.theme.${each}`)])}
            onChoose={(key) => chooseTheme(key as Theme)}
          />
          <MenuItem id="sign-out" className="Option">
            {text('shell.signOut')}
          </MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

interface ChoiceProps {
  readonly title: string
  readonly chosen: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChoose: (key: string) => void
}

function Choice({ title, chosen, options, onChoose }: ChoiceProps) {
  return (
    <MenuSection
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[chosen]}
      onSelectionChange={(keys) => {
        const [key] = keys === 'all' ? [] : [...keys]
        if (key !== undefined) onChoose(String(key))
      }}
    >
      <Header className="Options-title">{title}</Header>
      {options.map(([key, label]) => (
        <MenuItem key={key} id={key} className="Option">
          {label}
        </MenuItem>
      ))}
    </MenuSection>
  )
}
