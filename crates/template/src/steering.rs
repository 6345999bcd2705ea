//! The variables that steer programs: what a command cannot hand to later checks through `$ESCROW_ENV`, and which of them
//! cannot be given a value in a script or in `env:`.
//!
//! An agent that could set `PATH` or `BASH_ENV` for the next check would choose what that check runs.

/// A row of the table in docs/commands.md. `*` in a name stands for any text.
pub struct SteeringNames {
    pub names: &'static [&'static str],
    /// What they steer.
    pub steers: &'static str,
    /// Those whose value shells or common programs read as code, or that name what programs load and start. They are
    /// written out one by one: `NODE_OPTIONS` is code, `NODE_ENV` is not.
    pub code: &'static [&'static str],
}

pub const STEERING_NAMES: &[SteeringNames] = &[
    SteeringNames { names: &["ESCROW_*", "OTEL_*"], steers: "Escrow", code: &[] },
    SteeringNames {
        names: &["DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES", "LD_*", "LOCPATH", "NLSPATH", "PATH"],
        steers: "which programs and libraries are loaded",
        code: &["DYLD_*", "GCONV_PATH", "LD_*", "PATH"],
    },
    SteeringNames {
        names: &[
            "BASHOPTS",
            "BASHPID",
            "BASH_*",
            "CDPATH",
            "ENV",
            "EPOCHREALTIME",
            "EPOCHSECONDS",
            "EUID",
            "FPATH",
            "GLOBIGNORE",
            "HISTCMD",
            "IFS",
            "KSH_ENV",
            "LINENO",
            "MAILCHECK",
            "OPTERR",
            "OPTIND",
            "PPID",
            "PROMPT_COMMAND",
            "PS0",
            "PS1",
            "PS2",
            "PS3",
            "PS4",
            "RANDOM",
            "SECONDS",
            "SHELL",
            "SHELLOPTS",
            "SRANDOM",
            "UID",
            "ZDOTDIR",
        ],
        steers: "shells",
        code: &[
            "BASHOPTS",
            "BASHPID",
            "BASH_ARGV0",
            "BASH_ENV",
            "BASH_FUNC_*",
            "BASH_SUBSHELL",
            "ENV",
            "EPOCHREALTIME",
            "EPOCHSECONDS",
            "EUID",
            "FPATH",
            "HISTCMD",
            "KSH_ENV",
            "LINENO",
            "MAILCHECK",
            "OPTERR",
            "OPTIND",
            "PPID",
            "PROMPT_COMMAND",
            "PS0",
            "PS1",
            "PS2",
            "PS3",
            "PS4",
            "RANDOM",
            "SECONDS",
            "SHELL",
            "SHELLOPTS",
            "SRANDOM",
            "UID",
            "ZDOTDIR",
        ],
    },
    SteeringNames {
        names: &["HOME", "LOGNAME", "TEMP", "TMP", "TMPDIR", "USER", "XDG_*"],
        steers: "where programs look for their configuration and put their files",
        code: &[],
    },
    SteeringNames {
        names: &[
            "BROWSER",
            "EDITOR",
            "EXINIT",
            "FCEDIT",
            "FZF_*",
            "GVIMINIT",
            "LESS*",
            "MANOPT",
            "MANPAGER",
            "MORE",
            "PAGER",
            "SUDO_*",
            "SYSTEMD_*",
            "VIMINIT",
            "VISUAL",
        ],
        steers: "which helper a program starts",
        code: &[
            "BROWSER",
            "EDITOR",
            "EXINIT",
            "FCEDIT",
            "FZF_DEFAULT_COMMAND",
            "FZF_DEFAULT_OPTS",
            "GVIMINIT",
            "LESS",
            "LESSCLOSE",
            "LESSEDIT",
            "LESSKEY*",
            "LESSOPEN",
            "MANOPT",
            "MANPAGER",
            "MORE",
            "PAGER",
            "SUDO_ASKPASS",
            "SUDO_EDITOR",
            "SYSTEMD_EDITOR",
            "SYSTEMD_PAGER",
            "VIMINIT",
            "VISUAL",
        ],
    },
    SteeringNames {
        names: &["BUN_*", "DENO_*", "NODE_*", "NPM_*", "PNPM_*", "YARN_*"],
        steers: "Node.js",
        code: &["NODE_OPTIONS", "NODE_PATH", "NPM_CONFIG_*", "PNPM_CONFIG_*", "YARN_*"],
    },
    SteeringNames {
        names: &["CONDA_*", "PIP_*", "POETRY_*", "PYTHON*", "UV_*", "VIRTUAL_ENV"],
        steers: "Python",
        code: &[
            "PIP_CONFIG_FILE",
            "PYTHONBREAKPOINT",
            "PYTHONEXECUTABLE",
            "PYTHONHOME",
            "PYTHONINSPECT",
            "PYTHONPATH",
            "PYTHONPLATLIBDIR",
            "PYTHONPYCACHEPREFIX",
            "PYTHONSTARTUP",
            "PYTHONUSERBASE",
            "PYTHONWARNINGS",
        ],
    },
    SteeringNames {
        names: &["BUNDLE_*", "GEM_*", "RUBY*"],
        steers: "Ruby",
        code: &["BUNDLE_GEMFILE", "BUNDLE_PATH", "GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT", "RUBYSHELL"],
    },
    SteeringNames {
        names: &["LUA_*", "PERL*", "PHP*"],
        steers: "Perl, PHP and Lua",
        code: &[
            "LUA_CPATH*",
            "LUA_INIT*",
            "LUA_PATH*",
            "PERL5DB",
            "PERL5LIB",
            "PERL5OPT",
            "PERL5SHELL",
            "PERLLIB",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
        ],
    },
    SteeringNames {
        names: &["CLASSPATH", "GRADLE_*", "JAVA_*", "JDK_*", "MAVEN_*", "_JAVA_OPTIONS"],
        steers: "Java",
        code: &[
            "CLASSPATH",
            "GRADLE_OPTS",
            "JAVA_OPTS",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "MAVEN_ARGS",
            "MAVEN_OPTS",
            "_JAVA_OPTIONS",
        ],
    },
    SteeringNames {
        names: &[
            "AR",
            "CARGO*",
            "CC",
            "CFLAGS",
            "CGO_*",
            "CMAKE_*",
            "COMPILER_PATH",
            "CPATH",
            "CPLUS_INCLUDE_PATH",
            "CPP",
            "CPPFLAGS",
            "CXX",
            "CXXFLAGS",
            "C_INCLUDE_PATH",
            "GCC_*",
            "GNUMAKEFLAGS",
            "GO*",
            "LDFLAGS",
            "LIBRARY_PATH",
            "MAKE*",
            "MFLAGS",
            "NIX_*",
            "OBJC_INCLUDE_PATH",
            "PKG_CONFIG*",
            "RUST*",
        ],
        steers: "compilers and build tools",
        code: &[
            "AR",
            "CARGO",
            "CARGO_ALIAS_*",
            "CARGO_BUILD_RUST*",
            "CARGO_CREDENTIAL_ALIAS_*",
            "CARGO_ENCODED_RUST*",
            "CARGO_HOME",
            "CARGO_REGISTRIES_*_CREDENTIAL_PROVIDER",
            "CARGO_REGISTRY_CREDENTIAL_PROVIDER",
            "CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS",
            "CARGO_TARGET_*_AR",
            "CARGO_TARGET_*_LINKER",
            "CARGO_TARGET_*_RUNNER",
            "CARGO_TARGET_*_RUSTFLAGS",
            "CC",
            "CMAKE_*_LAUNCHER",
            "COMPILER_PATH",
            "CPP",
            "CXX",
            "GCC_EXEC_PREFIX",
            "GNUMAKEFLAGS",
            "GOFLAGS",
            "GOTOOLDIR",
            "MAKEFILES",
            "MAKEFLAGS",
            "MFLAGS",
            "PKG_CONFIG",
            "RUSTC",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTC_WRAPPER",
            "RUSTDOC",
            "RUSTFLAGS",
        ],
    },
    SteeringNames {
        names: &["CVS_RSH", "GIT_*", "GNUPGHOME", "HGRCPATH", "HG_*", "RSYNC_*", "SSH_*", "SVN_*"],
        steers: "git and ssh",
        code: &[
            "CVS_RSH",
            "GIT_ASKPASS",
            "GIT_CONFIG",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_KEY_*",
            "GIT_CONFIG_PARAMETERS",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_VALUE_*",
            "GIT_EDITOR",
            "GIT_EXEC_PATH",
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "GIT_PROXY_COMMAND",
            "GIT_SEQUENCE_EDITOR",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_TEMPLATE_DIR",
            "HGRCPATH",
            "HG_EDITOR",
            "RSYNC_CONNECT_PROG",
            "RSYNC_RSH",
            "SSH_ASKPASS",
            "SVN_EDITOR",
            "SVN_SSH",
        ],
    },
    SteeringNames {
        names: &["GH_*", "GITHUB_*", "GITLAB_*", "GLAB_*"],
        steers: "GitHub and GitLab, and which account is used",
        code: &["GH_BROWSER", "GH_CONFIG_DIR", "GH_EDITOR", "GH_PAGER", "GH_PATH", "GLAB_PAGER"],
    },
    SteeringNames {
        names: &[
            "ANSIBLE_*",
            "AWS_*",
            "AZURE_*",
            "CLOUDSDK_*",
            "DOCKER_*",
            "GOOGLE_*",
            "HELM_*",
            "KUBE*",
            "TF_*",
            "VAULT_*",
        ],
        steers: "which cloud, cluster or account is changed",
        code: &[
            "ANSIBLE_CONFIG",
            "ANSIBLE_PAGER",
            "AWS_PAGER",
            "KUBECTL_EXTERNAL_DIFF",
            "KUBE_EDITOR",
            "TF_CLI_CONFIG_FILE",
        ],
    },
    SteeringNames {
        names: &[
            "ALL_PROXY",
            "CURL_*",
            "FTP_PROXY",
            "HOSTALIASES",
            "HTTPS_PROXY",
            "HTTP_PROXY",
            "LOCALDOMAIN",
            "NETRC",
            "NO_PROXY",
            "OPENSSL_*",
            "REQUESTS_CA_BUNDLE",
            "RES_OPTIONS",
            "SSLKEYLOGFILE",
            "SSL_*",
            "WGETRC",
        ],
        steers: "where requests go, and whom programs trust",
        code: &["CURL_HOME", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "WGETRC"],
    },
    SteeringNames {
        names: &[
            "MYSQL_*",
            "PGDATABASE",
            "PGHOST",
            "PGHOSTADDR",
            "PGOPTIONS",
            "PGPASSFILE",
            "PGPORT",
            "PGSERVICE",
            "PGSERVICEFILE",
            "PGSSL*",
            "PGSYSCONFDIR",
            "PGUSER",
            "PSQLRC",
            "PSQL_*",
            "REDISCLI_*",
            "SQLITE_*",
        ],
        steers: "databases, and which of them is used",
        code: &["PSQLRC", "PSQL_EDITOR", "PSQL_PAGER"],
    },
    SteeringNames {
        names: &[
            "AWKLIBPATH",
            "AWKPATH",
            "GAWK_READ_TIMEOUT",
            "GREP_OPTIONS",
            "GZIP",
            "PARALLEL",
            "PARALLEL_HOME",
            "POSIXLY_CORRECT",
            "TAR_OPTIONS",
            "UNZIP",
            "UNZIPOPT",
            "XZ_*",
            "ZIPOPT",
            "ZSTD_*",
        ],
        steers: "which options and code other tools take",
        code: &[
            "AWKLIBPATH",
            "AWKPATH",
            "PARALLEL",
            "PARALLEL_HOME",
            "TAR_OPTIONS",
            "UNZIP",
            "UNZIPOPT",
            "ZIPOPT",
        ],
    },
];

/// What a variable steers, in upper or lower case.
pub fn steered_by(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    STEERING_NAMES
        .iter()
        .find(|row| row.names.iter().any(|pattern| matches(pattern, &name)))
        .map(|row| row.steers)
}

/// Whether a variable is read as code by a shell or a common program. Case counts, except in the settings of npm.
pub(crate) fn is_evaluated(name: &str) -> bool {
    let in_capitals = name.to_ascii_uppercase();
    let name = if in_capitals.starts_with("NPM_CONFIG_") { &in_capitals } else { name };
    STEERING_NAMES.iter().flat_map(|row| row.code).any(|pattern| matches(pattern, name))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod unit_tests {
    use super::{STEERING_NAMES, is_evaluated, steered_by};

    #[test]
    fn names_that_steer_programs_are_known_in_every_case() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "BASH_ENV",
            "ENV",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "PYTHONSTARTUP",
            "http_proxy",
            "npm_config_registry",
            "ESCROW_RUN",
            "GOFLAGS",
            "RUSTC_WRAPPER",
            "CARGO",
            "PS4",
            "GNUMAKEFLAGS",
            "MFLAGS",
            "TAR_OPTIONS",
            "RSYNC_RSH",
            "VIMINIT",
            "EXINIT",
            "ZIPOPT",
            "UNZIP",
            "PSQLRC",
            "PGHOST",
            "PGHOSTADDR",
            "PGSERVICE",
            "PGSERVICEFILE",
            "PGPASSFILE",
            "PGOPTIONS",
            "PGSYSCONFDIR",
            "SUDO_ASKPASS",
            "GLIBC_TUNABLES",
            "CPATH",
            "C_INCLUDE_PATH",
            "CPLUS_INCLUDE_PATH",
            "LIBRARY_PATH",
            "PARALLEL",
            "NETRC",
            "GNUPGHOME",
            "NIX_CONFIG",
            "SSH_ASKPASS",
            "AWKPATH",
            "AWKLIBPATH",
            "SQLITE_HISTORY",
            "MANPAGER",
            "LESSOPEN",
            "LESSCLOSE",
            "DOCKER_HOST",
            "KUBECONFIG",
            "AWS_CONFIG_FILE",
        ] {
            assert!(steered_by(name).is_some(), "{name}");
        }
        for name in ["READY", "VERSION", "DRY_RUN", "PATHS", "MY_PATH", "ENVIRONMENT", "TARGET", "LANG"] {
            assert_eq!(steered_by(name), None, "{name}");
        }
    }

    #[test]
    fn names_are_sorted_and_unique() {
        for row in STEERING_NAMES {
            assert!(row.names.is_sorted_by(|one, next| one < next), "{:?}", row.names);
            assert!(row.code.is_sorted_by(|one, next| one < next), "{:?}", row.code);
        }
        let mut all: Vec<&str> = STEERING_NAMES.iter().flat_map(|row| row.names).copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_variable_that_is_read_as_code_steers_programs() {
        for name in STEERING_NAMES.iter().flat_map(|row| row.code) {
            assert!(steered_by(&name.replace('*', "X")).is_some(), "{name}");
        }
    }

    #[test]
    fn ordinary_variables_may_have_a_value() {
        for name in [
            "AWS_REGION",
            "CARGO_BUILD_TARGET",
            "CARGO_TARGET_DIR",
            "GH_REPO",
            "GH_TOKEN",
            "GIT_AUTHOR_NAME",
            "GOAL",
            "GOOS",
            "LESSON",
            "NODE_ENV",
            "PYTHONUNBUFFERED",
            "RUST_LOG",
            "cc",
            "editor",
            "path",
            "uid",
        ] {
            assert!(!is_evaluated(name), "{name}");
        }
    }

    #[test]
    fn a_pattern_has_its_star_anywhere() {
        for name in [
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "npm_config_script_shell",
            "NPM_CONFIG_SCRIPT_SHELL",
        ] {
            assert!(is_evaluated(name), "{name}");
        }
        assert!(!is_evaluated("CARGO_TARGET_LINKER"));
    }

    #[test]
    fn the_page_about_commands_has_the_whole_table() {
        const PAGE: &str = include_str!("../../../docs/commands.md");
        for row in STEERING_NAMES {
            let names: Vec<String> = row.names.iter().map(|name| format!("`{name}`")).collect();
            let line = format!("| {} | {} |", names.join(", "), row.steers);
            assert!(PAGE.contains(&line), "missing: {line}");
        }
    }
}
